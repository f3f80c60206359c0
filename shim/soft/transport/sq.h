#pragma once
/*
 * Send queues. Any thread.
 *
 * A request is written into the slot of its position, which is sq.head or later, and is then
 * accepted (pending.h): it is executed, or waits. post.c accepts requests one by one, wr.c accepts
 * whole batches.
 */
#include "shim/soft/transport/objects.h"

/*
 * A flag in addition to enum ibv_send_flags: the waiting request has a reference to its address
 * handle.
 */
#define SQ_REFERENCES_AH (1u << 31)

/* Compute the layout. Returns the number of bytes for the slots; the caller sets sq->wrs. */
size_t sq_lay_out(struct soft_sq *sq, const struct ibv_qp_cap *cap);

/*
 * Execute all possible requests. Callers hold the lock of the send queue. If the queue has to wait
 * (sq_waits()), the caller adds it to the list (pending.h).
 */
void sq_run(struct soft_qp *qp);

/* Is the queue waiting, so that it must be retried? */
static inline bool sq_waits(const struct soft_sq *sq)
{
	return sq->wait != WAIT_NONE || unlikely(sq->fins);
}

/* Reset the queue to its initial state. Callers hold the lock. */
void sq_reset(struct soft_qp *qp);

/* In SQD, the last request that had begun is done. Callers hold the lock. */
void sq_note_drained(struct soft_qp *qp);

/*
 * The request at sq.next is done with @status. Callers hold the lock. False: its completion must
 * wait, and the queue must be added to the list (pending.h).
 */
bool sq_finish(struct soft_qp *qp, int status);

/* Set the queue pair's state to error and flush both queues. Callers hold the lock. */
void sq_fail(struct soft_qp *qp);

/* Take the lock if it is free. */
bool sq_try_lock(struct soft_sq *sq);

/* The slow path of sq_lock(). */
bool sq_wait_for_lock(struct soft_sq *sq);

/*
 * Take the lock for a verb that the program calls. False if this thread already has the lock, since
 * it is between ibv_wr_start() and ibv_wr_complete().
 */
static inline bool sq_lock(struct soft_sq *sq)
{
	return likely(lock_try(&sq->lock)) || sq_wait_for_lock(sq);
}

static inline struct soft_wr *sq_slot(const struct soft_sq *sq, uint32_t pos)
{
	return (struct soft_wr *)(sq->wrs + (uint64_t)(pos & sq->mask) * sq->stride);
}

/* An additional slot after all others, for requests that will not be accepted. */
static inline struct soft_wr *sq_spare_slot(const struct soft_sq *sq)
{
	return (struct soft_wr *)(sq->wrs + (uint64_t)(sq->mask + 1) * sq->stride);
}

/* Does the slot of @pos still belong to an earlier request? */
static inline bool sq_full(const struct soft_sq *sq, uint32_t pos)
{
	/* pairs with the store_release of polls: the slot is free */
	return pos - __atomic_load_n(&sq->retired, __ATOMIC_ACQUIRE) >= sq->depth;
}

/*
 * Take references to the address handles of the waiting requests from @first on: the program may
 * destroy an address handle, since hardware copies it.
 */
void sq_reference_ahs(struct soft_qp *qp, uint32_t first);
