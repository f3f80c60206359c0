#pragma once
/*
 * The outstanding requests of one queue, oldest first. For match.c.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct match_request {
	uint64_t wr_id, n;
	int64_t time;
	uint32_t thread, index;
	bool signaled;
};

/* Empty when zeroed. */
struct match_queue {
	struct match_request *ring;
	uint32_t first, count, size; /* size is 0 or a power of two */
	uint32_t max;                /* its capacity; 0: unknown */
	uint32_t asked;              /* the size that the program requested; 0: unknown */
	bool unsure;                 /* it may hold requests that the trace does not have */
	bool repeats;                /* a wr_id was repeated: the queue remains unsure */
	uint64_t *seen;              /* while unsure: hash table of wr_id + 1; 0: empty */
	uint32_t nseen, seen_size;
};

/* Empty the queue; @unsure: its content is not known. */
void match_queue_clear(struct match_queue *queue, bool unsure);

static inline struct match_request *match_queue_at(const struct match_queue *queue, uint32_t i)
{
	return &queue->ring[(queue->first + i) & (queue->size - 1)];
}

/* Slow path of match_queue_push(): call match_queue_push() instead. */
struct match_request *match_queue_make_room(struct match_queue *queue, uint64_t wr_id);

/*
 * Add a request with @wr_id, which the caller fills in; drops the oldest if the queue is full. NULL
 * if out of memory.
 */
static inline struct match_request *match_queue_push(struct match_queue *queue, uint64_t wr_id)
{
	if (__builtin_expect(
		    queue->count < queue->size && queue->count < queue->max && !queue->unsure, 1))
		return match_queue_at(queue, queue->count++);
	return match_queue_make_room(queue, wr_id);
}

/* Slow path of match_queue_find(): call match_queue_find() instead. */
int64_t match_queue_search(const struct match_queue *queue, uint64_t wr_id, bool signaled);

/* The index of the first request with @wr_id, signaled if @signaled; -1: none. */
static inline int64_t match_queue_find(const struct match_queue *queue, uint64_t wr_id,
				       bool signaled)
{
	const struct match_request *first;

	if (!queue->count)
		return -1;
	first = match_queue_at(queue, 0);
	if (first->wr_id == wr_id && (!signaled || first->signaled))
		return 0;
	return match_queue_search(queue, wr_id, signaled);
}

/* Slow path of match_queue_take(): call match_queue_take() instead. */
void match_queue_remove(struct match_queue *queue, uint32_t at);

/* Remove the request at index @at, and the unsignaled ones before it. */
static inline void match_queue_take(struct match_queue *queue, uint32_t at)
{
	if (__builtin_expect(at, 0)) {
		match_queue_remove(queue, at);
		return;
	}
	queue->first = (queue->first + 1) & (queue->size - 1);
	queue->count--;
}
