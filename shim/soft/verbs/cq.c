/*
 * Completion queues: create, resize, destroy
 */

#include "shim/soft/verbs/cq.h"

#include <stdlib.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/profile.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/verbs/dead.h"
#include "shim/soft/verbs/domain.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/event.h"
#include "shim/soft/verbs/land.h"
#include "shim/soft/verbs/poll.h"
#include "shim/soft/verbs/poll_ex.h"

enum {
	WC_FLAGS = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG |
		   IBV_WC_EX_WITH_TM_INFO | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	STAMPS =
		IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	CQ_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
};

static uint32_t ring_size(uint32_t cqe)
{
	uint32_t size = 1;

	while (size < cqe)
		size <<= 1;
	return size;
}

static uint64_t ring_bytes(uint32_t size)
{
	return (uint64_t)size * sizeof(struct shm_cqe);
}

static uint32_t flags_of(const struct ibv_cq_init_attr_ex *attr)
{
	bool lossy = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
		     attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

	return SHM_CQ_ASLEEP | (attr->channel ? SHM_CQ_EVENTS : 0) |
	       (attr->wc_flags & STAMPS ? SHM_CQ_STAMPS : 0) | (lossy ? SHM_CQ_LOSSY : 0);
}

/* Set the shared part of a CQ when it gets its slot. Callers hold the object mutex. */
static int make_ring(struct soft_cq *cq, uint32_t slot, const struct ibv_cq_init_attr_ex *attr)
{
	const struct soft_channel *channel = (struct soft_channel *)attr->channel;
	struct shm_cq *shm = &segment_own->cq[slot];
	int err = -ENOMEM;

	if (segment_reserve(shm, sizeof(*shm)) < 0)
		return -ENOMEM;
	memset(shm, 0, sizeof(*shm));
	shm->cqe = attr->cqe;
	shm->size = ring_size(attr->cqe);
	shm->ring_off = heap_alloc_bare(ring_bytes(shm->size));
	shm->bounce_off = heap_alloc_bare(SHM_BOUNCE);
	shm->serial = cq->serial;
	shm->flags = flags_of(attr);
	shm->async = to_context(cq->ex.context)->async;
	shm->channel = channel ? channel->id : 0;
	shm->written = !copy_thread_is_running();
	cq->shm = shm;
	if (shm->ring_off && shm->bounce_off)
		err = cqring_find(segment_own, slot, &cq->ring);
	if (!err)
		err = cqring_reserve_pages(&cq->ring, 0, 0);
	cq->ring.ours = true;
	if (err < 0) {
		heap_free(shm->ring_off, ring_bytes(shm->size));
		heap_free(shm->bounce_off, SHM_BOUNCE);
		shm->serial = 0;
	}
	return err;
}

static void free_ring(struct soft_cq *cq)
{
	heap_free_at(cq->ring.entries, ring_bytes(cq->ring.mask + 1));
	heap_free_at(cq->ring.bounce, SHM_BOUNCE);
	memset(cq->shm, 0, sizeof(*cq->shm));
}

static int take_slot(struct soft_cq *cq, const struct ibv_cq_init_attr_ex *attr)
{
	int slot, err;

	pthread_mutex_lock(&soft_mutex);
	slot = soft_slot(soft_cqs, profile_limits()->max_cq, &soft_cq_slots);
	err = slot < 0 ? slot : make_ring(cq, slot, attr);
	if (!err) {
		cq->ex.handle = slot;
		__atomic_store_n(&soft_cqs[slot], cq, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

static int check_attr(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	int err;

	err = soft_enter(context, "create_cq");
	if (err)
		return err;
	if (attr->cqe < 1 || attr->cqe > (uint32_t)profile_limits()->max_cqe ||
	    attr->comp_vector >= (uint32_t)context->num_comp_vectors)
		return EINVAL;
	if (attr->wc_flags & ~WC_FLAGS ||
	    attr->comp_mask & ~(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD) ||
	    (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS && attr->flags & ~CQ_FLAGS))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD &&
	    (!attr->parent_domain || attr->parent_domain->context != context ||
	     !domain_is_parent(attr->parent_domain)))
		return EINVAL;
	return 0;
}

static void init_cq(struct soft_cq *cq, struct ibv_context *context,
		    const struct ibv_cq_init_attr_ex *attr)
{
	cq->ex.context = context;
	cq->ex.channel = attr->channel;
	cq->ex.cq_context = attr->cq_context;
	cq->ex.cqe = attr->cqe;
	cq->serial = soft_serial();
	pthread_mutex_init(&cq->ex.mutex, NULL);
	pthread_cond_init(&cq->ex.cond, NULL);
	poll_init_ex(cq, attr->wc_flags);
}

static struct soft_cq *make_cq(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	struct soft_cq *cq;
	int err;

	err = check_attr(context, attr);
	if (err)
		return soft_fail(err);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return soft_fail(ENOMEM);
	init_cq(cq, context, attr);
	err = take_slot(cq, attr);
	if (err < 0) {
		free(cq);
		return soft_fail(err);
	}
	if (attr->channel)
		__atomic_add_fetch(&attr->channel->refcnt, 1, __ATOMIC_RELAXED);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->parent = to_pd(attr->parent_domain);
		__atomic_add_fetch(&cq->parent->refs, 1, __ATOMIC_RELAXED);
	}
	return cq;
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				    struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = comp_vector,
	};

	return (struct ibv_cq *)make_cq(context, &attr);
}

struct ibv_cq_ex *soft_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct soft_cq *cq = make_cq(context, attr);

	if (!cq)
		return NULL;
	cq->extended = true;
	return &cq->ex;
}

/* Moderation is only a permission to delay events: this device never delays them. */
int soft_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	const struct ibv_cq_moderation_caps *caps = &profile_get()->attr.cq_mod_caps;
	int err;

	err = soft_enter(cq->context, "modify_cq");
	if (err)
		return err;
	if (attr->attr_mask & ~IBV_CQ_ATTR_MODERATE ||
	    (attr->attr_mask && (attr->moderate.cq_count > caps->max_cq_count ||
				 attr->moderate.cq_period > caps->max_cq_period)))
		return EINVAL;
	return 0;
}

/* Move the entries that were not polled to the new ring. */
static void move_entries(const struct cqring *from, struct soft_cq *cq, uint32_t num)
{
	struct cqring *to = &cq->ring;
	uint32_t pos;

	for (pos = cq->cons; num--; pos++)
		to->entries[pos & to->mask] = from->entries[pos & from->mask];
}

/* Resize the queue. Meanwhile no process can add or poll. */
static int resize_cq_locked(struct soft_cq *cq, uint32_t cqe)
{
	struct cqring old = cq->ring;
	uint32_t num = cq->shm->prod - cq->cons;
	uint32_t size = ring_size(cqe);
	uint64_t off;

	if (cqe < num)
		return EINVAL;
	off = heap_alloc_bare(ring_bytes(size));
	if (!off)
		return ENOMEM;
	cq->ring.entries = segment_at(segment_own, off, ring_bytes(size));
	cq->ring.mask = size - 1;
	/* one more, for the next entry, which polls read */
	if (cqring_reserve_pages(&cq->ring, cq->cons, num + 1) < 0) {
		cq->ring = old;
		heap_free(off, ring_bytes(size));
		return ENOMEM;
	}
	move_entries(&old, cq, num);
	cq->shm->ring_off = off;
	cq->shm->size = size;
	cq->shm->cqe = cqe;
	cq->ring.rings++;
	/* so that processes that add entries look the ring up again */
	cq->shm->rings = cq->ring.rings;
	heap_free_at(old.entries, ring_bytes(old.mask + 1));
	cq->ex.cqe = cqe;
	return 0;
}

EXPORT int ibv_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct soft_cq *cq = to_cq(ibcq);
	int err;

	err = soft_enter(ibcq->context, "resize_cq");
	if (err)
		return err;
	if (cqe < 1 || cqe > profile_limits()->max_cqe)
		return EINVAL;
	if (lock_is_stuck(&cq->shm->lock))
		return ETIMEDOUT;
	pthread_mutex_lock(&soft_mutex);
	if (!poll_lock(cq)) {
		pthread_mutex_unlock(&soft_mutex);
		return EBUSY;
	}
	cqring_lock(&cq->ring);
	err = resize_cq_locked(cq, cqe);
	lock_drop(&cq->shm->lock);
	lock_drop(&cq->polling);
	pthread_mutex_unlock(&soft_mutex);
	return err;
}

static void end_cq(struct soft_cq *cq)
{
	struct ibv_cq_ex *ex = &cq->ex;

	__atomic_store_n(&soft_cqs[ex->handle], NULL, __ATOMIC_RELEASE);
	if (ex->channel)
		pipe_purge(cq->shm->channel, PIPE_COMPLETION, ex->handle, cq->serial);
	pipe_purge(cq->shm->async, PIPE_CQ, ex->handle, cq->serial);
	free_ring(cq);
}

EXPORT int ibv_destroy_cq(struct ibv_cq *ibcq)
{
	struct soft_cq *cq = to_cq(ibcq);
	int err;

	err = soft_enter(ibcq->context, "destroy_cq");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	if (cq->refs) {
		pthread_mutex_unlock(&soft_mutex);
		return EBUSY;
	}
	end_cq(cq);
	pthread_mutex_unlock(&soft_mutex);
	event_wait_acks(&ibcq->mutex, &ibcq->cond, &ibcq->comp_events_completed, cq->events);
	event_wait_acks(&ibcq->mutex, &ibcq->cond, &ibcq->async_events_completed, cq->async_events);
	if (ibcq->channel)
		__atomic_sub_fetch(&ibcq->channel->refcnt, 1, __ATOMIC_RELEASE);
	if (cq->parent)
		__atomic_sub_fetch(&cq->parent->refs, 1, __ATOMIC_RELEASE);
	dead_retain(cq, &cq->ex.context);
	return 0;
}

void cq_close_all(struct ibv_context *context)
{
	unsigned int i;

	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < SHM_CQ_MAX; i++)
		if (soft_cqs[i] && soft_cqs[i]->ex.context == context)
			end_cq(soft_cqs[i]);
	pthread_mutex_unlock(&soft_mutex);
}
