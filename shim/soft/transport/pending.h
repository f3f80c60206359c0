#pragma once
/*
 * Send queues whose head waits for a time, or for the peer.
 */
#include "shim/soft/fabric/stage.h"
#include "shim/soft/transport/latency.h"
#include "shim/soft/transport/sq.h"

extern unsigned int pending_count;

/*
 * Add the queue to the list: it is retried until it is done. Callers hold the lock of the send
 * queue.
 */
void pending_add(struct soft_qp *qp);

/*
 * Accept the requests before position @head, which are already in their slots. Callers hold the
 * lock.
 */
static inline void pending_accept(struct soft_qp *qp, uint32_t head)
{
	uint32_t first = qp->sq.head, pos;

	qp->sq.head = head;
	for (pos = first; unlikely(latency_any) && pos != head; pos++)
		latency_set_arrival(qp, pos, sq_slot(&qp->sq, pos));
	/* requests after one that waits must wait, too */
	if (qp->sq.wait == WAIT_NONE)
		sq_run(qp);
	if (unlikely(qp->sq.next != head || qp->sq.fins)) {
		sq_reference_ahs(qp, first);
		pending_add(qp);
	}
}

/* Execute the requests that are possible in the new state. Callers hold the lock. */
static inline void pending_run(struct soft_qp *qp)
{
	sq_run(qp);
	if (sq_waits(&qp->sq))
		pending_add(qp);
}

/* Remove a queue pair that will be destroyed from the list. Callers must not hold its lock. */
void pending_remove(struct soft_qp *qp);

/* Retry all queues of the list, and execute copies for peers. */
void pending_try(void);

static inline bool pending_any(void)
{
	return unlikely(__atomic_load_n(&pending_count, __ATOMIC_RELAXED)) || stage_is_requested();
}

/*
 * Receives packets from other machines, and returns whether there were any; NULL while the network
 * is not used. An empty poll calls it, which is faster than waking the thread of the network.
 */
extern bool (*pending_receive)(void);

static inline bool pending_network(void)
{
	bool (*receive)(void) = __atomic_load_n(&pending_receive, __ATOMIC_RELAXED);

	return unlikely(receive) && receive();
}

/* In a child: the thread was not inherited. */
void pending_forget(void);
