#pragma once
/*
 * Send queues whose head waits for time to pass, or for the peer.
 */
#include "shim/soft/transport/soft.h"
#include "shim/soft/fabric/stage.h"

extern unsigned int pending_count;

/* Try again until the queue is done; under the lock of the send queue. */
void pending_add(struct soft_qp *qp);

/* The queue pair goes away. Without its lock. */
void pending_del(struct soft_qp *qp);

/* Somebody has the time: try all, and copy what peers ask for. */
void pending_try(void);

static inline bool pending_any(void)
{
	return unlikely(__atomic_load_n(&pending_count, __ATOMIC_RELAXED)) ||
		stage_asked();
}

/* In a child: the thread was not inherited. */
void pending_forget(void);
