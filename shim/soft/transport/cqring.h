#pragma once
/*
 * A completion queue, as used by a process that adds entries: the owner or a peer. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/soft/fabric/shared.h"

struct cqring {
	struct shm_seg *seg;
	struct shm_cq *shm;
	struct shm_cqe *entries;
	uint8_t *bounce;
	uint32_t mask;
	uint32_t rings;
	uint32_t index;
	bool ours;  /* this process owns the queue: it is never looked up again */
	bool stuck; /* cqring_begin() found the queue locked by a stopped process */
};

/* Look up queue @index of @seg, and check it. 0 or -EPROTO. */
int cqring_find(struct shm_seg *seg, uint32_t index, struct cqring *ring);

/*
 * Allocate memory for an empty ring of this process, beginning at position @pos: for the whole
 * ring, or, if it is long, for the first entries, at least @num; memory for the rest is allocated
 * when it is used. 0 or -ENOMEM.
 */
int cqring_reserve_pages(struct cqring *ring, uint32_t pos, uint32_t num);

/* Copy @ring for use without its lock: fields that a resize may change are looked up again. */
void cqring_copy(struct cqring *to, const struct cqring *ring);

/* Lock the queue. False: the queue does not exist any more; it is locked nevertheless. */
bool cqring_lock(struct cqring *ring);

/*
 * Arm the queue (SHM_ARM_...): an entry that the next poll does not see causes an event. Never
 * waits.
 */
void cqring_arm(struct cqring *ring, uint32_t arm);

/* Wait until a process that is adding an entry has published it, or is found dead or stopped. */
void cqring_await_lock(struct cqring *ring);

/* Put the queue into overrun, whether it is full or not. */
void cqring_set_overrun(struct cqring *ring);

bool cqring_is_dropped(const struct shm_cqe *cqe);

/* Will the commit drop the entry? Then it must not have payload. */
static inline bool cqring_drops(const struct cqring *ring, const struct shm_cqe *cqe)
{
	return unlikely(ring->shm->flags & SHM_CQ_LOSSY) && cqring_is_dropped(cqe);
}

/*
 * Memory in the bounce ring for @len bytes of payload of @cqe; call it between begin and commit.
 * NULL: no space.
 */
uint8_t *cqring_bounce(struct cqring *ring, struct shm_cqe *cqe, uint32_t len);

/* Wake a queue that is asleep (SHM_CQ_ASLEEP), since an entry that is being added has payload. */
void cqring_wake(struct cqring *ring);

/* Wake the thread that checks the queues of @seg (land.c). */
void cqring_wake_copy_thread(struct shm_seg *seg);

static inline bool cqring_sleeps(const struct cqring *ring)
{
	return __atomic_load_n(&ring->shm->flags, __ATOMIC_RELAXED) & SHM_CQ_ASLEEP;
}

/* The slow paths of begin and commit. */
struct shm_cqe *cqring_begin_unusual(struct cqring *ring, enum lock_result taken);
bool cqring_commit_unusual(struct cqring *ring, const struct shm_cqe *cqe, bool solicited);

/* Send an event if the CQ was armed while the entry was added. */
void cqring_notify_armed(struct cqring *ring, bool solicited);

static inline void cqring_clear(struct shm_cqe *cqe)
{
	memset((char *)cqe + sizeof(cqe->seq), 0,
	       offsetof(struct shm_cqe, data) - sizeof(cqe->seq));
}

static inline bool cqring_is_usual(const struct cqring *ring)
{
	const struct shm_cq *cq = ring->shm;

	/* a peer can write any number into @rings */
	return cq->rings == ring->rings && ring->entries && !cq->overrun &&
	       cq->prod - cq->cons_seen < cq->cqe && !(cq->flags & (SHM_CQ_STAMPS | SHM_CQ_GROWS));
}

static ALWAYS_INLINE struct shm_cqe *cqring_begin_locked(struct cqring *ring,
							 enum lock_result taken)
{
	struct shm_cqe *cqe;

	if (unlikely(taken != LOCK_TAKEN || !cqring_is_usual(ring)))
		return cqring_begin_unusual(ring, taken);
	cqe = &ring->entries[ring->shm->prod & ring->mask];
	cqring_clear(cqe);
	return cqe;
}

/*
 * Begin to add an entry, which is zero except for its payload; the queue stays locked until
 * cqring_commit(). NULL: another process was stopped while it was adding an entry (@ring->stuck);
 * or the queue overruns, and its owner was notified. Then nothing is locked.
 */
static ALWAYS_INLINE struct shm_cqe *cqring_begin(struct cqring *ring)
{
	return cqring_begin_locked(ring, lock_take_live(&ring->shm->lock));
}

/* The same, but wait for a stopped process. */
static inline struct shm_cqe *cqring_begin_sure(struct cqring *ring)
{
	return cqring_begin_locked(ring, lock_take(&ring->shm->lock) ? LOCK_HALF_DONE : LOCK_TAKEN);
}

static ALWAYS_INLINE void cqring_commit(struct cqring *ring, struct shm_cqe *cqe, bool solicited)
{
	struct shm_cq *cq = ring->shm;
	uint32_t next = cq->prod + 1;

	if (likely(!(cq->flags & (SHM_CQ_EVENTS | SHM_CQ_LOSSY))) ||
	    cqring_commit_unusual(ring, cqe, solicited)) {
		/* first publish, then count: see repair_entry() */
		/* pairs with the load_acquire of polls */
		__atomic_store_n(&cqe->seq, next, __ATOMIC_RELEASE);
		__atomic_store_n(&cq->prod, next, __ATOMIC_RELEASE);
		if (unlikely(cq->flags & SHM_CQ_EVENTS))
			cqring_notify_armed(ring, solicited);
	}
	lock_drop(&cq->lock);
}
