#pragma once
/*
 * Receive queues, shared ones as well, that are too small for what is sent to them.
 *
 * A queue was empty while messages waited if all its receives had been polled, and the reliable
 * connections that it serves had sent more messages than receives had ever been posted to it. A
 * message that finds it empty is refused, and sent again after min_rnr_timer: sends that were
 * outstanding then, and took as long, have waited for that, unless there was so much to send. Only
 * senders in the trace are counted, with no events missing; the queue may have others.
 *
 * Not thread-safe.
 */
#include "analyzer/model/queue.h"

struct model;
struct model_complete;

/* Receives were posted to @queue of @object, the last @taken of queue->messages. */
void dry_posted(struct model *model, const struct trace_event *event, const struct life *object,
		struct queue *queue, uint32_t taken);

/* A completion was polled. */
void dry_completed(struct model *model, const struct model_complete *complete);
