#pragma once
/*
 * Queue pairs: shared by creation and changes of state.
 */
#include "shim/soft/transport/objects.h"

/* Set the queue pair to RESET, as after its creation, and purge its completions. */
void qp_reset(struct soft_qp *qp);

/*
 * Does ibv_modify_qp() allow the transition of a queue pair of @type from @from to @to with these
 * attributes (enum ibv_qp_attr_mask)?
 */
bool qp_may_go(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask);

/* Create a queue pair; its attributes were checked. NULL and errno on failure. */
struct soft_qp *qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr);

/* Remove the queue pair from all tables. Callers hold the object mutex. Then qp_free() frees it. */
void qp_withdraw(struct soft_qp *qp);
void qp_free(struct soft_qp *qp);

/* ibv_modify_qp(), for faults under the name @verb. */
int qp_modify(struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask, const char *verb);

int soft_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *limit);

void qp_close_all(struct ibv_context *context);

/* Does the queue pair receive? An XRC_SEND queue pair does not, and ignores receive attributes. */
static inline bool qp_receives(const struct ibv_qp_init_attr *attr)
{
	return attr->qp_type != IBV_QPT_XRC_SEND;
}
