#pragma once
/*
 * Messages that arrived when no receive was posted.
 *
 * On a reliable connection the n-th message consumes the n-th receive. The receive queue was
 * certainly empty when the message arrived if the message was posted before its receive. Both ends
 * must be in the trace with no events missing, and the peer must have no SRQ; otherwise nothing is
 * reported.
 *
 * Not thread-safe.
 */
#include "analyzer/model/queue.h"

struct model;

/*
 * Receives were posted to @queue of @qp, the last @taken of queue->messages: set
 * queue_request.starved of the messages that waited for them, and queue->starved.
 */
void starved_note_post(struct model *model, const struct trace_event *event, const struct life *qp,
		       struct queue *queue, uint32_t taken);

/*
 * Did the RNR timer of the peer, @timer ns, make @request wait until @end? There was no receive,
 * and the receive that it consumed was posted while the timer ran for the last time.
 */
bool starved_explains(const struct queue_request *request, int64_t timer, int64_t end);

/*
 * The longest time that the peer's RNR timer may have delayed @request of @qp; INT64_MAX: not
 * known.
 */
int64_t starved_limit(struct model *model, const struct life *qp,
		      const struct queue_request *request);
