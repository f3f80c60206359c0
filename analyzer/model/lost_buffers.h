#pragma once
/*
 * Receive buffers that were lost with their queue pair: it was destroyed while they were posted,
 * and their flushed completions were not polled.
 *
 * Stored by memory region, since a pool of buffers usually is one, until the buffers are posted
 * again, or the region or process is gone.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"
#include "core/base/map.h"

struct model;
struct queue;
struct sge;

struct lost_pool {
	uint32_t process, lkey;
	uint64_t buffers;        /* buffers that were lost and not posted again */
	uint64_t others;         /* buffers posted since by queue pairs created later */
	uint32_t queues;         /* queue pairs that were destroyed with buffers */
	char first[LIFE_NAME];   /* name of the first of these queue pairs */
	struct moment destroyed; /* when the last of these queue pairs was destroyed */
	struct map addresses;    /* of the buffers */
	struct lost_pool *next, **at;
};

/* Queue pair @qp is destroyed, and its receives are still outstanding. 0 or -ENOMEM. */
int lost_buffers_note_destroy(struct model *model, const struct life *qp,
			      const struct moment *destroyed);

/* A receive of @queue was posted. */
void lost_buffers_note_post(struct model *model, const struct queue *queue,
			    const struct sge *first);

/*
 * The pool of a region (@lkey), or the next pool of @process after @pool (NULL: the first); or
 * NULL.
 */
const struct lost_pool *lost_buffers_find(const struct model *model, uint32_t process,
					  uint32_t lkey);
const struct lost_pool *lost_buffers_next(const struct model *model, uint32_t process,
					  const struct lost_pool *pool);

/* The region of @lkey was deregistered, or @process has ended (@lkey 0). */
void lost_buffers_forget(struct model *model, uint32_t process, uint32_t lkey);
