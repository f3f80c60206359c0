#pragma once
/*
 * Completion queues.
 */
#include "shim/soft/transport/objects.h"

struct ibv_cq_ex *soft_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int soft_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
void cq_close_all(struct ibv_context *context);
