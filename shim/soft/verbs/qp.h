#pragma once
/*
 * Queue pairs: what creation and changes of state have in common.
 */
#include "shim/soft/transport/objects.h"

/* Back to how it was created, in state RESET; purges its completions. */
void qp_reset(struct soft_qp *qp);

/*
 * Does ibv_modify_qp() take a queue pair of @type from @from to @to with these attributes (enum
 * ibv_qp_attr_mask)?
 */
bool qp_may_go(enum ibv_qp_type type, enum ibv_qp_state from, enum ibv_qp_state to, int mask);

/* A queue pair with attributes that were checked, or NULL and errno. */
struct soft_qp *qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr);

/* Take it out of all tables, under the object mutex; then free it. */
void qp_withdraw(struct soft_qp *qp);
void qp_free(struct soft_qp *qp);

/* ibv_modify_qp(), by the name of @verb. */
int qp_modify(struct soft_qp *qp, const struct ibv_qp_attr *attr, int mask, const char *verb);

int soft_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *limit);

void qp_close_all(struct ibv_context *context);

/* Does it receive? The sending end of XRC does not, and ignores attributes for that. */
static inline bool qp_receives(const struct ibv_qp_init_attr *attr)
{
	return attr->qp_type != IBV_QPT_XRC_SEND;
}
