#pragma once
/* Work queues, and indirection tables of work queues. */
#include "shim/soft/transport/objects.h"

struct ibv_wq *soft_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int soft_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int soft_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *soft_create_rwq_ind_table(struct ibv_context *context,
						    struct ibv_rwq_ind_table_init_attr *attr);
int soft_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);
