#pragma once
/*
 * Send queues. Any thread.
 *
 * A request is written into the slot of its position, at head or behind it,
 * and then accepted, which carries it out or queues it: post.c does that one
 * by one, wr.c with all that was built.
 */
#include "shim/soft/transport/soft.h"

/* Beside enum ibv_send_flags: a request that waits keeps its address handle. */
#define SQ_KEEPS_AH	(1u << 31)

/* 0 or -ENOMEM. */
int sq_make(struct soft_sq *sq, struct ibv_pd *pd, const struct ibv_qp_cap *cap);
void sq_free(struct soft_sq *sq);

/* Carry out what can be; under the lock of the send queue. */
void sq_run(struct soft_qp *qp);

/* What an RNR timer (enum of IBA 9.7.5.2.8) stands for. */
uint64_t sq_rnr_ns(uint8_t timer);

/* Back to how it was made; under the lock. */
void sq_reset(struct soft_qp *qp);

/* Nothing that was begun is left, in SQD; under the lock. */
void sq_drained(struct soft_qp *qp);

/* Set our own state to error and flush both queues; under the lock. */
void sq_fail(struct soft_qp *qp);

/*
 * Take the lock for a verb that the program calls. False if this thread has
 * it already: it is between ibv_wr_start() and ibv_wr_complete().
 */
static inline bool sq_take(struct soft_sq *sq)
{
	if (likely(lock_try(&sq->lock)))
		return true;
	if (__atomic_load_n(&sq->build.thread, __ATOMIC_RELAXED) ==
	    pthread_self())
		return false;
	lock_wait(&sq->lock);
	return true;
}

static inline struct soft_wr *sq_slot(const struct soft_sq *sq, uint32_t pos)
{
	return (struct soft_wr *)(sq->wrs +
				  (uint64_t)(pos & sq->mask) * sq->stride);
}

/* Behind all slots: where requests go that will not be accepted. */
static inline struct soft_wr *sq_spare(const struct soft_sq *sq)
{
	return (struct soft_wr *)(sq->wrs +
				  (uint64_t)(sq->mask + 1) * sq->stride);
}

/* Does the slot of @pos still belong to an earlier request? */
static inline bool sq_full(const struct soft_sq *sq, uint32_t pos)
{
	/* pairs with the store_release of polls: the slot is free */
	return pos - __atomic_load_n(&sq->retired, __ATOMIC_ACQUIRE) >=
		sq->depth;
}

/*
 * Those from @first on that could not be carried out at once must outlive
 * what they name: the program may destroy it, as it may on hardware, which
 * has copied it.
 */
void sq_keep(struct soft_qp *qp, uint32_t first);

/* All before @head are written; under the lock. */
static inline void sq_accept(struct soft_qp *qp, uint32_t head)
{
	uint32_t first = qp->sq.head;

	qp->sq.head = head;
	/* behind one that waits there is nothing to do */
	if (qp->sq.wait == WAIT_NONE)
		sq_run(qp);
	if (unlikely(qp->sq.next != head))
		sq_keep(qp, first);
}

/* What is read comes back: not inline, and into memory that is writable. */
static inline bool sq_reads(uint32_t opcode)
{
	return opcode == IBV_WR_RDMA_READ ||
		opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
