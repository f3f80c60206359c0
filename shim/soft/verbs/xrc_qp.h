#pragma once
/*
 * XRC receive queue pairs: the verbs for them.
 */
#include "shim/soft/transport/objects.h"

struct ibv_qp *xrc_create_qp(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *soft_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/*
 * The attributes of an XRC receive queue pair are shared by all holders: they may be read and
 * changed between xrc_take_attr() and xrc_give_attr(), which do nothing for other queue pairs.
 */
void xrc_take_attr(struct soft_qp *qp);
void xrc_give_attr(struct soft_qp *qp);

/* Release the queue pair. Callers hold the object mutex. */
void xrc_withdraw(struct soft_qp *qp);
