#pragma once
/*
 * Messages that found no receive.
 *
 * On a reliable connection the n-th message takes the n-th receive. A message is certain to have
 * found the receive queue of its peer empty if it was posted before the receive that it took. Both
 * ends must be in the trace with nothing missing, and the peer must have no SRQ; elsewhere nothing
 * is said.
 *
 * One thread.
 */
#include "analyzer/model/queue.h"

struct model;

/*
 * Receives were posted to @queue of @qp, the last @taken of queue->messages: the messages that were
 * waiting for them get their queue_request.starved.
 */
void starved_note(struct model *model, const struct trace_event *event, const struct life *qp,
		  const struct queue *queue, uint32_t taken);

/*
 * Has the RNR timer of the peer, @timer ns, made @request wait until @end? It found no receive, and
 * the receive that it took came while the timer ran for the last time.
 */
bool starved_until(const struct queue_request *request, int64_t timer, int64_t end);
