#pragma once
/*
 * XRC receive queue pairs, as the program has them.
 */
#include "shim/soft/transport/objects.h"

struct ibv_qp *xrc_create_qp(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *soft_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/*
 * Its attributes are those of all who hold it: between these two, which are
 * nothing for other queue pairs, they are ours to see and to change.
 */
void xrc_take_attr(struct soft_qp *qp);
void xrc_give_attr(struct soft_qp *qp);

/* Let go of it; under the object mutex. */
void xrc_withdraw(struct soft_qp *qp);
