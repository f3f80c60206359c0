#pragma once
/*
 * Faults of send requests. With the lock of the send queue held.
 */
#include "shim/soft/transport/objects.h"

/* Like carry_request(), with the fault that applies to the request. */
int sq_fault_carry(struct soft_qp *qp, struct soft_wr *wr);

/*
 * @wr has a forced status, and was deferred for @reason (CARRY_*): the status with which it fails,
 * or @reason if it will fail with that status by itself.
 */
int sq_fault_doom(struct soft_qp *qp, struct soft_wr *wr, int reason);

/*
 * With real timers: @wr was deferred, since the receiver is not ready, or does not answer.
 * CARRY_HELD until the timer has run out, or the status with which it fails.
 */
int sq_fault_time(struct soft_qp *qp, struct soft_wr *wr, int reason);

/* The head is complete: the next one has its own faults. */
static inline void sq_fault_forget(struct soft_sq *sq)
{
	sq->judged = false;
	sq->tries = 0;
	sq->rnr_tries = 0;
	sq->doom = 0;
}
