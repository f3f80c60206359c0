#pragma once
/*
 * A receive queue, as used by its owner and by processes that deliver to it.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

struct rq {
	struct shm_rq *shm;
	uint8_t *wqes;
	uint32_t *order; /* slots of a shared queue; or NULL */
	uint32_t mask;
	uint32_t stride;
	uint32_t max_sge;
	uint32_t seen;  /* value of @prod when it was read last */
	uint32_t rings; /* generation of the ring; see rq_grow() */
};

static inline uint32_t rq_stride(uint32_t max_sge)
{
	return sizeof(struct shm_wqe) + max_sge * sizeof(struct ibv_sge);
}

static inline struct shm_wqe *rq_wqe(const struct rq *rq, uint32_t slot)
{
	return (struct shm_wqe *)(rq->wqes + (uint64_t)(slot & rq->mask) * rq->stride);
}

/* The number of SGEs of @wqe, read once: peers can write to it. */
static inline uint32_t rq_num_sge(const struct rq *rq, const struct shm_wqe *wqe)
{
	uint32_t num = __atomic_load_n(&wqe->num_sge, __ATOMIC_RELAXED);

	return num < rq->max_sge ? num : rq->max_sge;
}

static inline uint32_t rq_slot(const struct rq *rq, uint32_t pos)
{
	return rq->order ? rq->order[pos & rq->mask] : pos;
}

/* Look up queue @shm of @seg, and check it. 0 or -EPROTO. */
int rq_find(struct shm_seg *seg, struct shm_rq *shm, struct rq *rq);

/*
 * Create a queue for @max_wr requests of @max_sge SGEs in this process's segment. Callers hold the
 * object mutex. 0 or -ENOMEM.
 */
int rq_make(struct shm_rq *shm, uint32_t max_wr, uint32_t max_sge, bool shared, struct rq *rq);
void rq_free(struct rq *rq);

/*
 * Extend a shared queue to @max_wr: slots keep their numbers. Callers hold the object mutex and the
 * queue's lock. Peers will look the queue up again. 0 or -ENOMEM.
 */
int rq_grow(struct rq *rq, uint32_t max_wr);

/* Write a request into a slot. 0 or EINVAL. */
int rq_write(const struct rq *rq, uint32_t slot, const struct ibv_recv_wr *wr);
