#pragma once
/*
 * Queue pairs: what creation and change of state share.
 */
#include "shim/soft/transport/soft.h"

/* A free slot of soft_qps, or -ENOMEM; under the object mutex. */
int qp_slot(void);

/* An event of type @type for the program. */
void qp_tell(struct soft_qp *qp, int type);

/* Back to how it was created, in state RESET; purges its completions. */
void qp_reset(struct soft_qp *qp);

/* Set @state for peers to see; under its lock if it matters. */
void qp_set_state(struct soft_qp *qp, enum ibv_qp_state state);

/*
 * Does ibv_modify_qp() lead a queue pair of @type from @from to @to with these
 * attributes (enum ibv_qp_attr_mask)?
 */
bool qp_may_go(enum ibv_qp_type type, enum ibv_qp_state from,
	       enum ibv_qp_state to, int mask);

/* One whose attributes are good, or NULL and errno. */
struct soft_qp *qp_new(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr);

/* Out of everybody's sight, under the object mutex; then free it. */
void qp_withdraw(struct soft_qp *qp);
void qp_free(struct soft_qp *qp);
