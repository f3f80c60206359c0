#pragma once
/*
 * Contexts, and what they hold: made with the tables of verbs.
 */
#include "shim/soft/soft.h"

/* The one device. */
extern struct ibv_device *const device_soft;

/* In verbs_context; see the inlines of verbs.h. */
int soft_query_port(struct ibv_context *context, uint8_t port_num,
		    struct ibv_port_attr *attr, size_t size);
int soft_query_device_ex(struct ibv_context *context,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t size);
int soft_query_rt_values(struct ibv_context *context,
			 struct ibv_values_ex *values);
struct ibv_cq_ex *soft_create_cq_ex(struct ibv_context *context,
				    struct ibv_cq_init_attr_ex *attr);
struct ibv_mr *soft_alloc_null_mr(struct ibv_pd *pd);
int soft_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		   uint32_t flags, struct ibv_sge *sg_list, uint32_t num_sge);
int soft_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_mw *soft_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int soft_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
		 struct ibv_mw_bind *mw_bind);
int soft_dealloc_mw(struct ibv_mw *mw);
struct ibv_qp *soft_create_qp_ex(struct ibv_context *context,
				 struct ibv_qp_init_attr_ex *attr);
struct ibv_srq *soft_create_srq_ex(struct ibv_context *context,
				   struct ibv_srq_init_attr_ex *attr);

/* All that answers EOPNOTSUPP. */
void unsupported_init(struct verbs_context *verbs);

/* Take the objects of a context that is closed away from the peers. */
void qp_close_all(struct ibv_context *context);
void mr_close_all(struct ibv_context *context);
void mw_close_all(struct ibv_context *context);
void cq_close_all(struct ibv_context *context);
void srq_close_all(struct ibv_context *context);

