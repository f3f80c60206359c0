#pragma once
/*
 * The work requests that a thread is building, between ibv_wr_start() and ibv_wr_complete(), in the
 * format of a ring.
 *
 * A thread may build for several queue pairs at the same time, and so may a signal handler; each
 * queue pair has a separate builder, found by its address. Memory is allocated when a thread first
 * builds, and when a batch outgrows it; no lock, and errno is preserved. Each thread has its own
 * builders.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/event.h"

enum {
	BUILDERS = 64, /* maximum builders of a thread */
	/* maximum elements that are recorded for a request; devices allow fewer */
	BUILDER_SGES = 32,
	BUILDER_WR_BYTES = 1024, /* upper bound for one work request */
	BUILDER_BYTES = 64 << 10,
	BUILDER_MAX = 8 << 20, /* maximum bytes of a batch; a longer one is cut */
};

struct builder {
	const struct ibv_qp_ex *qp; /* NULL: never used */
	_Atomic bool open;          /* started, and neither completed nor aborted */
	bool cut;                   /* some requests of the batch did not fit */
	bool carries;               /* payload of the batch was captured */
	uint8_t late;               /* batches in which wr_id was set behind the last request */
	uint32_t nwr;
	uint32_t payload;      /* the number of the batch's captured payload; 0: none yet */
	uint32_t size;         /* size of the memory at @at */
	char *at, *next;       /* memory of the batch, and the end of the used part */
	char *most;            /* largest @next that leaves space for another request */
	struct event_wr *last; /* the request begun last; NULL: none, or it did not fit */
};

/* The builder used last; its qp is NULL if this thread has built nothing yet. */
extern __thread struct builder *builder_now __attribute__((tls_model("initial-exec")));

/* Find a builder that is not builder_now. NULL: none. */
struct builder *builder_search(const struct ibv_qp_ex *qp);

static inline struct builder *builder_find(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_now;

	return __builtin_expect(b->qp == qp, 1) ? b : builder_search(qp);
}

/* Take an open builder for @qp. NULL: out of memory. */
struct builder *builder_claim(const struct ibv_qp_ex *qp);

static inline void builder_open(struct builder *b)
{
	atomic_store_explicit(&b->open, true, memory_order_relaxed);
	b->cut = b->carries = false;
	b->nwr = b->payload = 0;
	b->next = b->at;
	b->last = NULL;
}

static inline void builder_start(const struct ibv_qp_ex *qp)
{
	struct builder *b = builder_find(qp);

	if (!b)
		b = builder_claim(qp);
	if (b)
		builder_open(b);
}

/* Number of bytes of the batch. */
static inline size_t builder_bytes(const struct builder *b)
{
	return (size_t)(b->next - b->at);
}

/* Allocate space for one more request. False: out of memory, and the batch is cut. */
bool builder_grow(struct builder *b);

/* Is there space for one more request, with all its parts? */
static inline bool builder_has_room(const struct builder *b)
{
	return __builtin_expect(!b->cut && b->next <= b->most, 1);
}

/* Begin a request; there must be space for it. */
static inline struct event_wr *builder_add(struct builder *b)
{
	struct event_wr *wr = (void *)b->next;

	b->last = wr;
	b->next += sizeof(*wr);
	b->nwr++;
	return wr;
}

/* Add @part to the last request, in its order among the other parts, unless it is there already. */
void *builder_add_part(struct builder *b, struct event_wr *wr, enum event_wr_part part);

/* Add @n elements, which replace earlier ones. */
static inline struct event_sge *builder_elements(struct builder *b, struct event_wr *wr,
						 unsigned int n)
{
	b->next -= wr->nsge * sizeof(struct event_sge);
	wr->nsge = (uint8_t)n;
	b->next += n * sizeof(struct event_sge);
	return (struct event_sge *)(void *)b->next - n;
}

/* The thread ends: free its memory. */
void builder_thread_end(void);
