#pragma once
/*
 * The buffers of outstanding requests.
 *
 * A struct payload_queue has the receives of a queue, or its reads and atomics, from post to
 * completion, found by wr_id. If it is not certain which request has completed, this is reported,
 * so that bytes are not attributed to a wrong request. Any thread; memory is allocated at the first
 * post to a queue.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/wire/event.h"

enum { QUEUE_SPANS = 32 }; /* maximum of one request; devices allow fewer */

/* Bytes in the program's memory. */
struct span {
	uint64_t at;
	uint64_t length;
};

struct request {
	uint64_t wr_id;
	enum payload_kind kind;
	enum payload_why why; /* why @spans does not have all elements of the request */
	uint64_t total;       /* sum of the lengths of all elements */
	unsigned int nspans;
	struct span spans[QUEUE_SPANS];
};

struct place_table; /* queues.c */

/* The outstanding requests of one queue. */
struct payload_queue {
	_Atomic unsigned int lock;
	_Atomic bool unsure; /* the outstanding requests are not known any more */
	bool shared;         /* requests complete in any order */
	/* posts overlapped: the order of the outstanding requests is not known */
	bool mixed;
	uint32_t posting;          /* number of posts that have begun but not returned */
	uint32_t max, spans;       /* maximum number of requests; spans of each */
	struct place_table *table; /* NULL until the first post */
};

/*
 * The queue was created, possibly at the address of an earlier queue. @max 0: the object does not
 * have this queue.
 */
void queue_begin(struct payload_queue *queue, uint32_t max, uint32_t spans, bool shared);

/* From now on the queue can have @max requests. */
void queue_resize(struct payload_queue *queue, uint32_t max);

/* RESET: no request is outstanding. */
void queue_clear(struct payload_queue *queue);

/* Call these before and after a post; add its requests in between. */
void queue_begin_post(struct payload_queue *queue);
void queue_end_post(struct payload_queue *queue);

/* @request will be posted. */
void queue_add_request(struct payload_queue *queue, const struct request *request);

/* @request was not posted. */
void queue_take_back(struct payload_queue *queue, const struct request *request);

/* From now on the queue's requests are not known. */
static inline void queue_forget_requests(struct payload_queue *queue)
{
	atomic_store_explicit(&queue->unsure, true, memory_order_relaxed);
}

/*
 * Remove the completed request with @wr_id; its kind is one of the bits in @kinds. @in_order: only
 * one thread polls the completions. Returns PAYLOAD_WHOLE, or why the request is not known.
 */
enum payload_why queue_take_request(struct payload_queue *queue, uint64_t wr_id, unsigned int kinds,
				    bool in_order, struct request *ret_request);

/* Is a request with @wr_id outstanding? 1, 0, or -1: not known. Does not change the queue. */
int queue_has(struct payload_queue *queue, uint64_t wr_id);

/*
 * In a child of fork(): drop the requests, whose locks threads may hold that do not exist in the
 * child.
 */
void queue_abandon(struct payload_queue *queue);
