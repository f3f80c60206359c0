#pragma once
/*
 * Messages that let the peer send, posted before the receive for what it will send.
 *
 * The peer has used up the receives of a queue when it has sent as many messages as receives were
 * posted. A message that is sent to it then, as an answer or a credit, and that it polls before its
 * next message, was a sign for that one; if the receive is posted after the sign, it may be late.
 *
 * Reliable connections with both ends in the trace, without SRQ; the first sends of each.
 *
 * Not thread-safe.
 */
#include "analyzer/model/queue.h"

/* The last requests of @sends were posted by @event. */
void credit_note_send(struct model *model, const struct trace_event *event, struct queue *sends);

/* Receives were posted to @receives. */
void credit_note_refill(struct queue *receives, const struct trace_event *event);
