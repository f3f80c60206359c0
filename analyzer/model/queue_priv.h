#pragma once
/*
 * Modifying a queue. For queue.c and queues.c.
 *
 * Not thread-safe.
 */
#include "analyzer/model/queue.h"

/* NULL if out of memory; the other functions accept NULL. */
struct queue *queue_new(struct life *owner, bool send);
struct queue *queue_get(struct queue *queue);
void queue_put(struct queue *queue);
struct queue_cq *queue_cq_get(struct queue_cq *cq);
void queue_cq_put(struct queue_cq *cq);

/*
 * Memory for another request with @nsge SGEs; NULL if out of memory. The caller sets all fields but
 * `sge`, and calls queue_push(); @busy is the list of queues with outstanding requests.
 */
struct queue_request *queue_reserve(struct queue *queue, uint32_t nsge);
void queue_push(struct queue *queue, struct queue **busy, const struct sge *sges);

/* Searches from the second request on: the slow part of queue_find(); call that. */
int64_t queue_search(const struct queue *queue, struct event_id id, uint32_t index);

static inline bool queue_is_request(const struct queue_request *request, struct event_id id,
				    uint32_t index)
{
	return request->n == id.n && request->index == index && request->thread == id.thread &&
	       !request->done;
}

/* The index in the ring of outstanding request @index of post @id; -1: none. */
static inline int64_t queue_find(const struct queue *queue, struct event_id id, uint32_t index)
{
	if (!queue->count)
		return -1;
	return queue_is_request(queue_at(queue, 0), id, index) ? 0 : queue_search(queue, id, index);
}

/* The request at @at is complete; on a send queue also the unsignaled ones before it. */
void queue_retire(struct queue *queue, uint32_t at);

/*
 * Notify the watcher that the request at @at leaves the queue without a completion, if it is
 * outstanding.
 */
void queue_notify_forget(const struct model *model, const struct queue *queue, uint32_t at,
			 bool reset);

/* Remove all outstanding requests. */
void queue_clear(struct queue *queue);
