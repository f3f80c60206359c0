#pragma once
/*
 * Shared receive queues.
 */
#include "shim/soft/transport/objects.h"

struct ibv_srq *soft_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int soft_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
int soft_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad_wr);
void srq_close_all(struct ibv_context *context);
