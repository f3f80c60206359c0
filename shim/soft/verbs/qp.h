#pragma once
/*
 * Queue pairs: shared by creation and changes of state.
 */
#include "shim/soft/transport/objects.h"

/* Set the queue pair to RESET, as when it was created; purges its completions. */
void qp_reset(struct soft_qp *qp);

/*
 * Does ibv_modify_qp() allow the transition of a queue pair of @type from @from to @to with these
 * attributes (enum ibv_qp_attr_mask)?
 */
bool qp_may_go(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask);

/* A queue pair with attributes that were checked, or NULL and errno. */
struct soft_qp *qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr);

/* Remove the queue pair from all tables, with the object mutex held; then free it. */
void qp_withdraw(struct soft_qp *qp);
void qp_free(struct soft_qp *qp);

/* ibv_modify_qp(), with @verb as its name. */
int qp_modify(struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask, const char *verb);

int soft_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *limit);

void qp_close_all(struct ibv_context *context);

/* Does the queue pair receive? The sending end of XRC does not, and ignores receive attributes. */
static inline bool qp_receives(const struct ibv_qp_init_attr *attr)
{
	return attr->qp_type != IBV_QPT_XRC_SEND;
}
