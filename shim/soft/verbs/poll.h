#pragma once
/*
 * Polling completion queues. Any thread.
 */
#include "shim/soft/transport/objects.h"

int soft_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int soft_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/*
 * Take the lock of polls for a verb that the program calls. False if this thread already has it,
 * since it is between ibv_start_poll() and ibv_end_poll().
 */
static inline bool poll_lock(struct soft_cq *cq)
{
	if (likely(lock_try(&cq->polling)))
		return true;
	if (__atomic_load_n(&cq->poller, __ATOMIC_RELAXED) == pthread_self())
		return false;
	lock_wait(&cq->polling);
	return true;
}

/* Is the queue empty, with no request to retry and no packet to receive? */
bool poll_finds_none(struct soft_cq *cq);

/*
 * The next entry, or NULL: its payload is copied, and the slot of its request is free. It stays
 * valid until poll_step(). Callers hold the lock.
 */
struct shm_cqe *poll_entry(struct soft_cq *cq);
void poll_step(struct soft_cq *cq, const struct shm_cqe *cqe);

/* Drop all completions of queue pair @qpn, which is being reset or destroyed. */
void poll_purge(struct soft_cq *cq, uint32_t qpn);

/* Drop the completions of receive requests of @srq. */
void poll_purge_srq(struct soft_cq *cq, struct soft_srq *srq);

/* Copy all payload to its buffers, since a memory region will be removed. */
void poll_copy_all_payload(struct soft_cq *cq);

/* Set whether senders write payload directly to memory. */
void poll_set_written(struct soft_cq *cq, bool written);

/* Called after entries were polled: payload may be sent with entries again. */
static inline void poll_allow_payload(struct soft_cq *cq)
{
	if (unlikely(__atomic_load_n(&cq->written, __ATOMIC_RELAXED)))
		poll_set_written(cq, false);
}

/*
 * Copy the payload of entries that were added since the last call, unless another thread polls.
 * Called by the device's own thread.
 */
void poll_copy_new_payload(struct soft_cq *cq);
