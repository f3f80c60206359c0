/*
 * Adding to a completion queue
 *
 * An entry is published by its sequence number, the position plus one, so that a poll reads one
 * word and does not take the queue's lock. Processes that add entries take the lock; if one dies
 * while it adds an entry, the entry is either unpublished, and the next process overwrites it, or
 * published, and the next process counts it (repair_entry()).
 *
 * An event is sent before its entry is published, so that a death cannot leave an entry without its
 * event. A thread that gets the event takes and drops the lock (cqring_await_lock()): after that
 * the entry is published, or its writer is dead. The thread does not wait for a stopped writer: it
 * arms the queue without the lock, and the writer checks for that after it has published its entry.
 *
 * Payload that does not fit into an entry is put into a separate ring of bytes, the bounce ring, in
 * the order of the entries:
 *
 *	entries  | 7 | 8 | 9 |   |   |		cons = 7, prod = 10
 *	bounce   ...|777|888888|99|....		bounce_cons, bounce_prod
 *
 * Some programs create the longest possible queue, half a gigabyte, and use little of it. So memory
 * is allocated only for the first entries of a long ring, and for more when these are used up,
 * until the whole ring has memory. The entry at prod always has memory, because polls read it. If
 * memory for more cannot be allocated, the queue overruns.
 */
#include "shim/soft/transport/cqring.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/segment.h"

enum {
	BOUNCE_STEP = 32 << 10,
	FIRST_ENTRIES = 32 << 10, /* 4 MiB */
	MORE_ENTRIES = 1 << 10,
	UNKNOWN = -1,
};

int cqring_find(struct shm_seg *seg, uint32_t index, struct cqring *ring)
{
	struct cqring found;
	struct shm_cq *cq;
	uint32_t size;

	if (index >= SHM_CQ_MAX)
		return -EPROTO;
	cq = &seg->cq[index];
	size = cq->size;
	if (!cq->serial || !size || size > 2 * SHM_CQE_MAX || (size & (size - 1)) ||
	    cq->ring_off % SHM_LINE || cq->bounce_off % SHM_LINE)
		return -EPROTO;
	found = (struct cqring){
		.seg = seg,
		.shm = cq,
		.index = index,
		.rings = cq->rings,
		.mask = size - 1,
		.entries = segment_at(seg, cq->ring_off, (uint64_t)size * sizeof(struct shm_cqe)),
		.bounce = segment_at(seg, cq->bounce_off, SHM_BOUNCE),
	};
	if (!found.entries || !found.bounce)
		return -EPROTO;
	if (ring->shm != cq)
		*ring = found;
	/* not the lock, nor fields that a resize does not change: others may be using them */
	ring->rings = found.rings;
	ring->mask = found.mask;
	ring->entries = found.entries;
	ring->bounce = found.bounce;
	return 0;
}

/*
 * Allocate memory for @num entries from @pos on, which comes from shared memory: a peer may have
 * written any value there.
 */
static int reserve_entries(const struct cqring *ring, uint32_t pos, uint32_t num)
{
	uint32_t slot = pos & ring->mask, left = ring->mask + 1 - slot;
	uint32_t first = num < left ? num : left;
	int err;

	err = segment_reserve_in(ring->seg, ring->entries + slot,
				 (uint64_t)first * sizeof(struct shm_cqe));
	if (err || first == num)
		return err;
	return segment_reserve_in(ring->seg, ring->entries,
				  (uint64_t)(num - first) * sizeof(struct shm_cqe));
}

int cqring_reserve_pages(struct cqring *ring, uint32_t pos, uint32_t num)
{
	struct shm_cq *cq = ring->shm;
	uint32_t size = ring->mask + 1;
	int err;

	if (num < FIRST_ENTRIES)
		num = FIRST_ENTRIES;
	if (num > size)
		num = size;
	if (num < size && !segment_has_room((uint64_t)size * sizeof(struct shm_cqe)))
		return -ENOMEM;
	err = reserve_entries(ring, pos, num);
	if (err < 0)
		return err;
	cq->ready_from = pos;
	cq->ready = pos + num;
	if (num < size)
		cq->flags |= SHM_CQ_GROWS;
	else
		cq->flags &= ~SHM_CQ_GROWS;
	return 0;
}

/*
 * Allocate memory for the entry at prod and the next one, if they have none. Callers hold the lock.
 */
static bool grow_ring(struct cqring *ring)
{
	struct shm_cq *cq = ring->shm;
	uint32_t size = ring->mask + 1;
	uint32_t left = cq->ready_from + size - cq->ready;
	uint32_t num = left < MORE_ENTRIES ? left : MORE_ENTRIES;

	if ((int32_t)(cq->ready - cq->prod) > 1)
		return true;
	if (reserve_entries(ring, cq->ready, num) < 0)
		return false;
	cq->ready += num;
	if (num == left)
		cq->flags &= ~SHM_CQ_GROWS;
	return true;
}

static void raise_overrun(struct cqring *ring)
{
	struct pipe_event event = { PIPE_CQ, ring->index, ring->shm->serial, IBV_EVENT_CQ_ERR };

	if (ring->shm->overrun)
		return;
	ring->shm->overrun = 1;
	pipe_send(ring->seg, ring->shm->async, &event);
}

void cqring_set_overrun(struct cqring *ring)
{
	lock_take(&ring->shm->lock);
	raise_overrun(ring);
	lock_drop(&ring->shm->lock);
}

/* Is there a free entry? The consumer's position is read again only if the queue looks full. */
static bool has_room(struct shm_cq *cq)
{
	if (likely(cq->prod - cq->cons_seen < cq->cqe))
		return true;
	/* pairs with the store_release of polls: the entry was read */
	cq->cons_seen = __atomic_load_n(&cq->cons, __ATOMIC_ACQUIRE);
	return cq->prod - cq->cons_seen < cq->cqe;
}

/* Written instead of an entry that will be dropped. */
static _Thread_local struct shm_cqe nowhere;

bool cqring_is_dropped(const struct shm_cqe *cqe)
{
	return cqe == &nowhere;
}

static struct shm_cqe *note_overrun(struct cqring *ring)
{
	if (ring->shm->flags & SHM_CQ_LOSSY && !ring->shm->overrun) {
		nowhere = (struct shm_cqe){ 0 };
		return &nowhere;
	}
	raise_overrun(ring);
	lock_drop(&ring->shm->lock);
	return NULL;
}

/*
 * An armed queue fires once. It is disarmed after the event is sent, since the sender may die in
 * between; the event is also for threads that arm the queue in between.
 */
static void fire_event(struct cqring *ring, bool solicited)
{
	struct pipe_event event = { PIPE_COMPLETION, ring->index, ring->shm->serial, 0 };
	uint32_t armed = __atomic_load_n(&ring->shm->armed, __ATOMIC_RELAXED);

	if (armed == SHM_ARM_NONE || (armed == SHM_ARM_SOLICITED && !solicited))
		return;
	pipe_send(ring->seg, ring->shm->channel, &event);
	__atomic_add_fetch(&ring->shm->events, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->shm->armed, SHM_ARM_NONE, __ATOMIC_RELAXED);
}

/* The last owner of the lock has died: count the entry that it has published. */
static void repair_entry(struct cqring *ring)
{
	struct shm_cq *cq = ring->shm;

	while (ring->entries[cq->prod & ring->mask].seq == cq->prod + 1)
		cq->prod++;
}

/*
 * Look the ring up again if it has changed; but not the own ring, since polls use it without the
 * lock, and a peer might have written the change.
 */
static bool is_ring_found(struct cqring *ring)
{
	/* a peer can write any number to @rings, even UNKNOWN */
	return ring->ours || likely(ring->shm->rings == ring->rings && ring->entries) ||
	       cqring_find(ring->seg, ring->index, ring) == 0;
}

void cqring_copy(struct cqring *to, const struct cqring *ring)
{
	*to = (struct cqring){
		.seg = ring->seg, .shm = ring->shm, .index = ring->index, .rings = UNKNOWN
	};
}

bool cqring_lock(struct cqring *ring)
{
	bool half_done = lock_take(&ring->shm->lock);

	if (!is_ring_found(ring))
		return false;
	if (unlikely(half_done))
		repair_entry(ring);
	return true;
}

/*
 * Arm the queue while a process that adds an entry is stopped: when it continues, it checks
 * cq->armed again.
 */
static void arm_concurrently(struct shm_cq *cq, uint32_t arm)
{
	uint32_t unarmed = SHM_ARM_NONE;

	/*
	 * sequentially consistent with cqring_notify_armed(): at least one thread sees the
	 * other's store
	 */
	if (arm == SHM_ARM_ANY)
		__atomic_store_n(&cq->armed, arm, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n(&cq->armed, &unarmed, arm, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
}

void cqring_arm(struct cqring *ring, uint32_t arm)
{
	uint32_t *armed = &ring->shm->armed;

	if (lock_is_stuck(&ring->shm->lock)) {
		arm_concurrently(ring->shm, arm);
		return;
	}
	cqring_lock(ring);
	/* SHM_ARM_ANY replaces SHM_ARM_SOLICITED, but not the reverse */
	if (__atomic_load_n(armed, __ATOMIC_RELAXED) != SHM_ARM_ANY)
		__atomic_store_n(armed, arm, __ATOMIC_RELAXED);
	lock_drop(&ring->shm->lock);
}

void cqring_notify_armed(struct cqring *ring, bool solicited)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	fire_event(ring, solicited);
}

void cqring_await_lock(struct cqring *ring)
{
	if (lock_is_stuck(&ring->shm->lock))
		return;
	cqring_lock(ring);
	lock_drop(&ring->shm->lock);
}

struct shm_cqe *cqring_begin_unusual(struct cqring *ring, enum lock_result taken)
{
	struct shm_cq *cq = ring->shm;
	struct shm_cqe *cqe;

	ring->stuck = taken == LOCK_STUCK;
	if (unlikely(ring->stuck))
		return NULL;
	if (unlikely(!is_ring_found(ring))) {
		lock_drop(&cq->lock);
		return NULL;
	}
	if (unlikely(taken == LOCK_HALF_DONE))
		repair_entry(ring);
	if (unlikely(cq->overrun || !has_room(cq)) ||
	    (unlikely(cq->flags & SHM_CQ_GROWS) && !grow_ring(ring)))
		return note_overrun(ring);
	cqe = &ring->entries[cq->prod & ring->mask];
	cqring_clear(cqe);
	if (cq->flags & SHM_CQ_STAMPS)
		cqe->stamp = process_now();
	return cqe;
}

/* Commit an entry in unusual cases. False if the entry is dropped. */
bool cqring_commit_unusual(struct cqring *ring, const struct shm_cqe *cqe, bool solicited)
{
	if (cqring_drops(ring, cqe))
		return false;
	if (ring->shm->flags & SHM_CQ_EVENTS)
		fire_event(ring, solicited);
	return true;
}

void cqring_wake_copy_thread(struct shm_seg *seg)
{
	__atomic_add_fetch(&seg->payload_waits, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &seg->payload_waits, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void cqring_wake(struct cqring *ring)
{
	uint32_t flags = ring->shm->flags & ~SHM_CQ_ASLEEP;

	__atomic_store_n(&ring->shm->flags, flags, __ATOMIC_RELAXED);
	cqring_wake_copy_thread(ring->seg);
}

/* Allocate memory for the bounce ring up to @end, if this is its first use. */
static bool reserve_bounce(struct cqring *ring, uint32_t end)
{
	struct shm_cq *cq = ring->shm;
	uint32_t from = cq->bounce_ready;

	if (likely(end <= from))
		return true;
	end = (end + BOUNCE_STEP - 1) & ~(BOUNCE_STEP - 1u);
	if (segment_reserve_in(ring->seg, ring->bounce + from, end - from) < 0)
		return false;
	cq->bounce_ready = end;
	return true;
}

uint8_t *cqring_bounce(struct cqring *ring, struct shm_cqe *cqe, uint32_t len)
{
	struct shm_cq *cq = ring->shm;
	uint32_t room = (len + SHM_LINE - 1) & ~(SHM_LINE - 1u);
	uint32_t at = cq->bounce_prod;
	uint32_t left = SHM_BOUNCE - at % SHM_BOUNCE;

	if (left < room)
		at += left; /* the payload must be contiguous: continue at the beginning */
	if (at + room - cq->bounce_seen > SHM_BOUNCE)
		cq->bounce_seen = __atomic_load_n(&cq->bounce_cons, __ATOMIC_ACQUIRE);
	if (at + room - cq->bounce_seen > SHM_BOUNCE ||
	    !reserve_bounce(ring, at % SHM_BOUNCE + room))
		return NULL;
	cq->bounce_prod = at + room;
	cqe->where = SHM_BOUNCED;
	cqe->bounce = at;
	return ring->bounce + at % SHM_BOUNCE;
}
