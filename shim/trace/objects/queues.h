#pragma once
/*
 * The buffers of outstanding requests.
 *
 * Each queue has its receives, or its reads and atomics, from post to completion, found by wr_id.
 * If it is not certain which request has completed, this is reported, so that no bytes are
 * attributed to a wrong one. Any thread; memory is allocated when a queue is first posted to.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/wire/event.h"

enum { QUEUE_SPANS = 32 }; /* for one request; devices allow fewer */

/* Bytes in the program's memory. */
struct span {
	uint64_t at;
	uint64_t length;
};

struct request {
	uint64_t wr_id;
	enum payload_kind kind;
	enum payload_why why; /* why @spans does not have all of its elements */
	uint64_t total;       /* bytes of all elements */
	unsigned int nspans;
	struct span spans[QUEUE_SPANS];
};

struct table; /* queues.c */

/* One queue of requests. */
struct queue {
	_Atomic unsigned int lock;
	_Atomic bool unsure; /* the outstanding requests are not known any more */
	bool shared;         /* requests complete in any order */
	/* posts overlapped: the order of the outstanding requests is not known */
	bool mixed;
	uint32_t posting;    /* posts that have begun and not returned */
	uint32_t max, spans; /* capacity in requests, and spans of each */
	struct table *table; /* NULL until the first post */
};

/*
 * The queue was created, possibly at the address of an earlier one. @max 0: the object has no such
 * queue.
 */
void queue_begin(struct queue *queue, uint32_t max, uint32_t spans, bool shared);

/* The queue holds @max requests from now on. */
void queue_resize(struct queue *queue, uint32_t max);

/* RESET: nothing is outstanding. */
void queue_clear(struct queue *queue);

/* A post begins, or has returned: its requests are added in between. */
void queue_post_begins(struct queue *queue);
void queue_post_ends(struct queue *queue);

/* The request is about to be posted. */
void queue_put(struct queue *queue, const struct request *request);

/* The request was not posted after all. */
void queue_take_back(struct queue *queue, const struct request *request);

/* From now on the queue's requests are not known. */
static inline void queue_lose(struct queue *queue)
{
	atomic_store_explicit(&queue->unsure, true, memory_order_relaxed);
}

/*
 * Remove the completed request of that wr_id, of a kind whose bit is in @kinds. @in_order: one
 * thread polls its completions. Returns PAYLOAD_WHOLE, or why the request is not known.
 */
enum payload_why queue_get(struct queue *queue, uint64_t wr_id, unsigned int kinds, bool in_order,
			   struct request *ret_request);

/* Is a request of that wr_id outstanding? Nothing is removed. 1, 0, or -1: not known. */
int queue_has(struct queue *queue, uint64_t wr_id);

/* In a child of fork(): the locks may be held by threads that do not exist in it. */
void queue_abandon(struct queue *queue);
