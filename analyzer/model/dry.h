#pragma once
/*
 * Receive queues, including SRQs, that are too small for the messages sent to them.
 *
 * A queue was empty while messages waited if all its receives had been polled, and the reliable
 * connections that it serves had sent more messages than receives had ever been posted to it. A
 * message that finds the queue empty is refused, and sent again after min_rnr_timer: a send that
 * was outstanding then, and took at least that long, has waited for the timer, unless the link was
 * busy. Only senders in the trace are counted, with no events missing; the queue may have others.
 *
 * Not thread-safe.
 */
#include "analyzer/model/queue.h"

struct model;
struct model_complete;

/* Receives were posted to @queue of @object, the last @taken of queue->messages. */
void dry_note_post(struct model *model, const struct trace_event *event, const struct life *object,
		   struct queue *queue, uint32_t taken);

/* A completion was polled. */
void dry_note_completion(struct model *model, const struct model_complete *complete);
