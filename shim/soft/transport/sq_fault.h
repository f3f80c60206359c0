#pragma once
/*
 * Faults of send requests. Callers hold the lock of the send queue.
 */
#include "shim/soft/transport/objects.h"

/* Like execute_request(), but apply the fault for the request. */
int sq_fault_execute(struct soft_qp *qp, struct soft_wr *wr);

/*
 * @wr has a forced status, and was deferred for @reason (CARRY_*). Returns the status with which it
 * fails, or @reason if it will fail with that status by itself.
 */
int sq_fault_force_status(struct soft_qp *qp, struct soft_wr *wr, int reason);

/*
 * With real timers: @wr was deferred, since the receiver is not ready, or does not answer. Returns
 * EXECUTE_HELD until the timer has expired, or the status with which @wr fails.
 */
int sq_fault_time(struct soft_qp *qp, struct soft_wr *wr, int reason);

/* The request at the head is complete: the next request has its own faults. */
static inline void sq_fault_forget(struct soft_sq *sq)
{
	sq->judged = false;
	sq->tries = 0;
	sq->rnr_tries = 0;
	sq->forced_status = 0;
}
