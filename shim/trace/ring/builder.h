#pragma once
/*
 * Where a thread keeps the work requests that it is building, between
 * ibv_wr_start() and ibv_wr_complete(): in the form that they have in a ring.
 *
 * A thread may build on several queue pairs at once, and a signal handler may
 * build, too; each queue pair has a place of its own, found by its address.
 * Memory is taken when a thread first builds, and when a batch outgrows it; no
 * lock, and errno is left as it was. Each thread has its own.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/event.h"

enum {
	BUILDERS = 64,           /* places of a thread */
	BUILDER_SGES = 32,       /* recorded of one request; a device has fewer */
	BUILDER_WR_BYTES = 1024, /* more than one work request takes */
	BUILDER_BYTES = 64 << 10,
	BUILDER_MAX = 8 << 20, /* a batch that is longer is cut */
};

struct builder {
	const struct ibv_qp_ex *qp; /* NULL: never used */
	_Atomic bool open;          /* started, and neither complete nor aborted */
	bool cut;                   /* some of it did not fit */
	uint32_t nwr;
	uint32_t used, size; /* bytes of @at */
	uint32_t last;       /* offset of the request that was begun last */
	uint32_t payload;    /* number of what was captured of it; 0: nothing yet */
	bool carries;        /* some was */
	char *at;
};

/* The one that was used last; of no queue pair where this thread has built nothing yet. */
extern __thread struct builder *builder_now __attribute__((tls_model("initial-exec")));

/* Another than that one. NULL: there is none. */
struct builder *builder_find_other(const struct ibv_qp_ex *qp);

static inline struct builder *builder_find(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_now;

	return __builtin_expect(b->qp == qp, 1) ? b : builder_find_other(qp);
}

/* A place for @qp, open. NULL: no memory. */
struct builder *builder_claim(const struct ibv_qp_ex *qp);

static inline void builder_start(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_find(qp);

	if (__builtin_expect(!b, 0)) {
		b = builder_claim(qp);
		if (!b)
			return;
	}
	atomic_store_explicit(&b->open, true, memory_order_relaxed);
	b->cut = false;
	b->nwr = b->used = b->last = b->payload = 0;
	b->carries = false;
}

/* Make room for one more request; false: it cannot be had, and the batch is cut. */
bool builder_grow(struct builder *b);

/* The request that was begun last; NULL where there is none. */
static inline struct event_wr *builder_last(const struct builder *b)
{
	return b->nwr && !b->cut ? (void *)(b->at + b->last) : NULL;
}

/* Begin a request. NULL: there is no room for it. */
static inline struct event_wr *builder_add(struct builder *b)
{
	struct event_wr *wr;

	if (__builtin_expect(b->cut || (b->used + BUILDER_WR_BYTES > b->size && !builder_grow(b)),
			     0))
		return NULL;
	wr = (void *)(b->at + b->used);
	b->last = b->used;
	b->used += (uint32_t)sizeof(*wr);
	b->nwr++;
	return wr;
}

/* Room for @part of the last request, in its place among the others, where it was not before. */
void *builder_part(struct builder *b, struct event_wr *wr, enum event_wr_part part);

/* Room for @n elements, instead of what it had before. */
static inline struct event_sge *builder_elements(struct builder *b, struct event_wr *wr,
						 unsigned int n)
{
	b->used -= wr->nsge * (uint32_t)sizeof(struct event_sge);
	wr->nsge = (uint8_t)n;
	b->used += n * (uint32_t)sizeof(struct event_sge);
	return (struct event_sge *)(void *)(b->at + b->used) - n;
}

/* The thread ends: gives the memory back. */
void builder_thread_end(void);
