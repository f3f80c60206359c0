#pragma once
/*
 * Creating queue pairs of all types.
 */
#include "shim/soft/transport/objects.h"

struct ibv_qp *soft_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
