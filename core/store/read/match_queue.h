#pragma once
/*
 * The requests that are outstanding in one queue, oldest first. For match.c.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct match_request {
	uint64_t wr_id, n;
	int64_t time;
	uint32_t thread, index;
	bool signaled;
};

/* Zeroed it is empty. */
struct match_queue {
	struct match_request *ring;
	uint32_t first, count, size; /* size is 0 or a power of two */
	uint32_t max;                /* 0 unknown */
	uint32_t asked;              /* that the program may have outstanding; 0 unknown */
	bool unsure;                 /* it may hold others, from before */
	bool repeats;                /* unsure: for good, a wr_id came twice */
	uint64_t *seen;              /* unsure: wr_ids + 1, hashed; 0 none */
	uint32_t nseen, seen_size;
};

/* Nothing is in it, or, if @unsure, nobody knows what. */
void match_queue_clear(struct match_queue *queue, bool unsure);

/* One more; the oldest goes where it is full. 0 or -ENOMEM. */
int match_queue_push(struct match_queue *queue, const struct match_request *request);

/* The first with that wr_id, and signaled if it must be; -1 if there is none. */
int64_t match_queue_find(const struct match_queue *queue, uint64_t wr_id, bool signaled);

/* Take it out, and the unsignaled before it. */
struct match_request match_queue_take(struct match_queue *queue, uint32_t at);

static inline struct match_request *match_queue_at(const struct match_queue *queue, uint32_t i)
{
	return &queue->ring[(queue->first + i) & (queue->size - 1)];
}
