#pragma once
/*
 * Polling completion queues. Any thread.
 */
#include "shim/soft/transport/objects.h"

int soft_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int soft_req_notify_cq(struct ibv_cq *cq, int solicited_only);

/*
 * Take the lock of polls for a verb that the program calls. False if this
 * thread has it already, between ibv_start_poll() and ibv_end_poll().
 */
static inline bool poll_take(struct soft_cq *cq)
{
	if (likely(lock_try(&cq->polling)))
		return true;
	if (__atomic_load_n(&cq->poller, __ATOMIC_RELAXED) == pthread_self())
		return false;
	lock_wait(&cq->polling);
	return true;
}

/* There is nothing to be polled, and nothing that could be carried on. */
bool poll_is_vain(struct soft_cq *cq);

/*
 * The next entry, or NULL, under the lock: its payload is where it belongs,
 * and its request has its slot back. It stays until poll_step().
 */
struct shm_cqe *poll_entry(struct soft_cq *cq);
void poll_step(struct soft_cq *cq, const struct shm_cqe *cqe);

/* Drop all completions of queue pair @qpn, which is reset or destroyed. */
void poll_purge(struct soft_cq *cq, uint32_t qpn);

/* Drop those of its receives that went to @srq. */
void poll_purge_srq(struct soft_cq *cq, struct soft_srq *srq);

/* Bring all payload in: a memory region is going away. */
void poll_land_all(struct soft_cq *cq);
