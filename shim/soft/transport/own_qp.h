#pragma once
/*
 * Queue pairs of this process: what all kinds of them share.
 */
#include "shim/soft/transport/objects.h"

/* A free slot of soft_qps, or -ENOMEM; under the object mutex. */
int own_qp_find_slot(void);

/*
 * Does a process that is stopped hold any of our queues, to deliver there? Then it may use any of
 * our keys when it goes on. Under the object mutex.
 */
bool own_qp_any_stuck(void);

/* Send an event of type @type to the program. */
void own_qp_tell(struct soft_qp *qp, int type);

/* Set @state for peers to see; under its lock if it matters. */
void own_qp_set_state(struct soft_qp *qp, enum ibv_qp_state state);
