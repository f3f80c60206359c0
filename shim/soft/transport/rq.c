/*
 * Receive queues
 *
 * The owner writes a request into a slot and then publishes the position; the process that delivers
 * takes the next position. Positions are masked with a checked size, so a peer can corrupt
 * messages, but no other memory.
 *
 * The owner writes to a cache line that another processor has read. So it prefetches the line some
 * requests in advance. There are more slots than requests, so that the prefetched line has no
 * request that will be consumed soon.
 */
#include "shim/soft/transport/rq.h"

#include <errno.h>
#include <string.h>

#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"

int rq_find(struct shm_seg *seg, struct shm_rq *shm, struct rq *rq)
{
	/* must be read before all other fields: pairs with the store of rq_grow() */
	uint32_t rings = __atomic_load_n(&shm->rings, __ATOMIC_ACQUIRE);
	struct rq found = {
		.shm = shm,
		.mask = shm->size - 1,
		.max_sge = shm->max_sge,
		.stride = shm->stride,
		.rings = rings,
	};

	if (!shm->size || shm->size > 2 * SHM_WR_MAX || (shm->size & found.mask) ||
	    found.max_sge > SHM_SGE_MAX || found.stride != rq_stride(found.max_sge) ||
	    shm->wqe_off % 16 || shm->order_off % 16)
		return -EPROTO;
	found.wqes = segment_at(seg, shm->wqe_off, (uint64_t)(found.mask + 1) * found.stride);
	if (shm->order_off) {
		found.order = segment_at(seg, shm->order_off, (found.mask + 1) * sizeof(uint32_t));
		if (!found.order)
			return -EPROTO;
	}
	if (!found.wqes)
		return -EPROTO;
	found.seen = __atomic_load_n(&shm->taken, __ATOMIC_RELAXED);
	*rq = found;
	return 0;
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t size = 1;

	while (size < n)
		size <<= 1;
	return size;
}

int rq_make(struct shm_rq *shm, uint32_t max_wr, uint32_t max_sge, bool shared, struct rq *rq)
{
	/* do not reset the lock: a peer that knows an earlier owner of the slot may hold it */
	shm->taken = 0;
	shm->prod = 0;
	shm->doing = 0;
	shm->limit = 0;
	shm->size = power_of_two(shared ? max_wr : max_wr + SHM_RQ_APART);
	shm->stride = rq_stride(max_sge);
	shm->max_sge = max_sge;
	shm->order_off = 0;
	shm->rings++;
	shm->wqe_off = heap_alloc((uint64_t)shm->size * shm->stride);
	if (!shm->wqe_off)
		return -ENOMEM;
	if (shared) {
		shm->order_off = heap_alloc(shm->size * sizeof(uint32_t));
		if (!shm->order_off) {
			heap_free(shm->wqe_off, (uint64_t)shm->size * shm->stride);
			return -ENOMEM;
		}
	}
	return rq_find(segment_own, shm, rq);
}

void rq_free(struct rq *rq)
{
	uint32_t size = rq->mask + 1;

	if (!rq->shm)
		return;
	heap_free_at(rq->wqes, (uint64_t)size * rq->stride);
	heap_free_at(rq->order, size * sizeof(uint32_t));
	rq->shm = NULL;
}

static void move_requests(const struct rq *from, const struct rq *to)
{
	uint32_t pos = from->shm->taken;
	uint32_t n = from->shm->prod - pos;

	memcpy(to->wqes, from->wqes, (uint64_t)(from->mask + 1) * from->stride);
	for (; n && n <= from->mask + 1; n--, pos++)
		to->order[pos & to->mask] = from->order[pos & from->mask];
}

int rq_grow(struct rq *rq, uint32_t max_wr)
{
	struct shm_rq *shm = rq->shm;
	struct shm_rq old = { .wqe_off = shm->wqe_off, .order_off = shm->order_off };
	struct shm_rq new = { 0 };
	struct rq from = *rq, to;
	int err;

	err = rq_make(&new, max_wr, rq->max_sge, true, &to);
	if (err < 0)
		return err;
	move_requests(&from, &to);
	shm->size = new.size;
	shm->wqe_off = new.wqe_off;
	shm->order_off = new.order_off;
	__atomic_store_n(&shm->rings, shm->rings + 1, __ATOMIC_RELEASE);
	err = rq_find(segment_own, shm, rq);
	from.shm = &old;
	rq_free(&from);
	return err;
}

int rq_write(const struct rq *rq, uint32_t slot, const struct ibv_recv_wr *wr)
{
	struct shm_wqe *wqe = rq_wqe(rq, slot);
	uint64_t length = 0;
	int i;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge)
		return EINVAL;
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		wqe->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	wqe->length = length < UINT32_MAX ? length : UINT32_MAX;
	return 0;
}
