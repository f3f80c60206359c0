#pragma once
/*
 * Send queues whose head waits for time to pass, or for the peer.
 */
#include "shim/soft/fabric/stage.h"
#include "shim/soft/transport/sq.h"

extern unsigned int pending_count;

/* List the queue: it is tried again until it is done; under the lock of the send queue. */
void pending_add(struct soft_qp *qp);

/* Accept the requests before @head, which are written; under the lock. */
static inline void pending_accept(struct soft_qp *qp, uint32_t head)
{
	uint32_t first = qp->sq.head;

	qp->sq.head = head;
	/* requests behind one that waits must wait, too */
	if (qp->sq.wait == WAIT_NONE)
		sq_run(qp);
	if (unlikely(qp->sq.next != head || qp->sq.fins)) {
		sq_keep(qp, first);
		pending_add(qp);
	}
}

/* Carry out what is possible in the new state; under the lock. */
static inline void pending_run(struct soft_qp *qp)
{
	sq_run(qp);
	if (sq_waits(&qp->sq))
		pending_add(qp);
}

/* Take a queue pair that goes away off the list. Without its lock. */
void pending_del(struct soft_qp *qp);

/* Try all that are listed, and copy what peers ask for. */
void pending_try(void);

static inline bool pending_any(void)
{
	return unlikely(__atomic_load_n(&pending_count, __ATOMIC_RELAXED)) || stage_asked();
}

/* In a child: the thread was not inherited. */
void pending_forget(void);
