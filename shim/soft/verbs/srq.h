#pragma once
/*
 * Shared receive queues.
 */
#include "shim/soft/transport/objects.h"

struct ibv_srq *soft_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int soft_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
void srq_close_all(struct ibv_context *context);
