#pragma once
/*
 * Which buffers the requests have that are under way.
 *
 * Of each queue the receives, or the reads and atomics, between their post and
 * their completion, found again by wr_id. Where that cannot be known for sure
 * it is said, and no bytes are taken for another request's. Any thread; memory
 * is taken when a queue is first posted to.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/wire/event.h"

enum { QUEUE_SPANS = 32 }; /* of one request; a device has fewer */

/* Bytes in the program's memory. */
struct span {
	uint64_t at;
	uint64_t length;
};

struct request {
	uint64_t wr_id;
	enum payload_kind kind;
	enum payload_why why; /* not all of its elements are in @spans, and why */
	uint64_t total;       /* bytes of all elements */
	unsigned int nspans;
	struct span spans[QUEUE_SPANS];
};

struct table; /* queues.c */

/* One queue of requests. */
struct queue {
	_Atomic unsigned int lock;
	_Atomic bool unsure;          /* what is under way is not known any more */
	bool shared;                  /* requests complete in any order */
	_Atomic(const void *) poster; /* the thread that posts */
	_Atomic bool posters;         /* several do: in which order is not known */
	uint32_t max, spans;          /* requests, and of each */
	struct table *table;          /* NULL until it is posted to */
};

/* Made, or made anew where its object's memory came back. @max 0: it has no such queue. */
void queue_begin(struct queue *queue, uint32_t max, uint32_t spans, bool shared);

/* It holds @max requests from now on. */
void queue_resize(struct queue *queue, uint32_t max);

/* RESET: nothing is under way. */
void queue_clear(struct queue *queue);

/* Before it is posted. */
void queue_put(struct queue *queue, const struct request *request);

/* It was not posted after all. */
void queue_take_back(struct queue *queue, const struct request *request);

/* From now on nothing is known of it. */
static inline void queue_lose(struct queue *queue)
{
	atomic_store_explicit(&queue->unsure, true, memory_order_relaxed);
}

/*
 * The completed request of that wr_id and one of the kinds whose bits are in
 * @kinds. @in_order: one thread polls its completions. PAYLOAD_WHOLE, or why
 * it is not known.
 */
enum payload_why queue_get(struct queue *queue, uint64_t wr_id, unsigned int kinds, bool in_order,
			   struct request *ret_request);

/* Is one of that wr_id under way? Nothing is taken out. 1, 0, or -1: not known. */
int queue_has(struct queue *queue, uint64_t wr_id);

/* In a child: the locks may be held by threads that it does not have. */
void queue_abandon(struct queue *queue);
