#pragma once
/*
 * Contexts, and what they hold: made with the tables of verbs.
 */
#include "shim/soft/transport/soft.h"

/* The one device. */
extern struct ibv_device *const device_soft;

/*
 * Take part in the fabric without a context, as a child that has not yet
 * opened anything, too. 0 or -errno.
 */
int soft_join(void);
void soft_leave(void);

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
struct ibv_wq *soft_create_wq(struct ibv_context *context,
			      struct ibv_wq_init_attr *attr);
int soft_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int soft_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *
soft_create_rwq_ind_table(struct ibv_context *context,
			  struct ibv_rwq_ind_table_init_attr *attr);
int soft_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
struct ibv_flow *soft_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
int soft_destroy_flow(struct ibv_flow *flow);
struct ibv_counters *soft_create_counters(struct ibv_context *context,
				  struct ibv_counters_init_attr *attr);
int soft_destroy_counters(struct ibv_counters *counters);
int soft_attach_counters_point_flow(struct ibv_counters *counters,
				    struct ibv_counter_attach_attr *attr,
				    struct ibv_flow *flow);
int soft_read_counters(struct ibv_counters *counters, uint64_t *values,
		       uint32_t num, uint32_t flags);
struct ibv_td *soft_alloc_td(struct ibv_context *context,
			     struct ibv_td_init_attr *attr);
int soft_dealloc_td(struct ibv_td *td);
struct ibv_pd *soft_alloc_parent_domain(struct ibv_context *context,
				struct ibv_parent_domain_init_attr *attr);
struct ibv_dm *soft_alloc_dm(struct ibv_context *context,
			     struct ibv_alloc_dm_attr *attr);
int soft_free_dm(struct ibv_dm *dm);
struct ibv_mr *soft_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			      uint64_t off, size_t length, unsigned int access);
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
int soft_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
struct ibv_xrcd *soft_open_xrcd(struct ibv_context *context,
				struct ibv_xrcd_init_attr *attr);
int soft_close_xrcd(struct ibv_xrcd *xrcd);

/* All that answers EOPNOTSUPP. */
void unsupported_init(struct verbs_context *verbs);

/* Do two contexts share a command file, by import? */
static inline bool context_same_file(struct ibv_context *a,
				     struct ibv_context *b)
{
	return to_context(a)->file == to_context(b)->file;
}

/* Take the objects of a context that is closed away from the peers. */
void qp_close_all(struct ibv_context *context);
void mr_close_all(struct ibv_context *context);
void mw_close_all(struct ibv_context *context);
void cq_close_all(struct ibv_context *context);
void srq_close_all(struct ibv_context *context);
void flow_close_all(struct ibv_context *context);
void dm_close_all(struct ibv_context *context);
void pd_close_all(struct ibv_context *context);
void xrcd_close_all(struct ibv_context *context);
/* In a child. */
void xrcd_forget(void);

/* Forget what was inherited, in a child. */
void flow_forget(void);
void dm_forget(void);
void pd_forget(void);
