#pragma once
/*
 * Queue pairs of this process: functions for all types of queue pairs.
 */
#include "shim/soft/transport/objects.h"

/* A free slot of soft_qps, or -ENOMEM. Callers hold the object mutex. */
int own_qp_find_slot(void);

/* Publish the queue pair in its slot. Callers hold the object mutex. */
void own_qp_publish(struct soft_qp *qp, uint32_t slot);

/*
 * Call @visit for each lock of this process's queue pairs that was taken since it was made quiet:
 * those of a send queue (@send), and those that peers take for delivery. Callers hold the object
 * mutex.
 */
void own_qp_each_active(void (*visit)(struct soft_qp *qp, bool send));

/*
 * Has a stopped process locked any of this process's queues for delivery? Then it may use any key
 * when it continues. Callers hold the object mutex.
 */
bool own_qp_has_stuck_lock(void);

/* Send an event of type @type to the program. */
void own_qp_notify(struct soft_qp *qp, int type);

/* Set @state, which peers can see. Callers hold the queue pair's lock if others may use it. */
void own_qp_set_state(struct soft_qp *qp, enum ibv_qp_state state);
