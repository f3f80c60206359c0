#pragma once
/*
 * Modifying a queue. For queue.c and queues.c.
 *
 * One thread.
 */
#include "analyzer/model/queue.h"

/* NULL without memory; the other functions accept NULL. */
struct queue *queue_new(struct life *owner, bool send);
struct queue *queue_get(struct queue *queue);
void queue_put(struct queue *queue);
struct queue_cq *queue_cq_get(struct queue_cq *cq);
void queue_cq_put(struct queue_cq *cq);

/* Add a request with its SGEs. @busy: the list of queues with outstanding requests. 0, -ENOMEM. */
int queue_push(struct queue *queue, struct queue **busy, const struct queue_request *request,
	       const struct sge *sges);

/* The place of the outstanding request @id, @index; -1: none. */
int64_t queue_find(const struct queue *queue, struct event_id id, uint32_t index);

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
