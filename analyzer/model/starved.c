/*
 * Messages that found no receive
 *
 *	sender    m1 ---- m2 m3 ------------------		queue.messages: 3
 *	peer      r1 ------------ r2 ----- r3 ----		m2 and m3 were starved
 */
#include "analyzer/model/starved.h"

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"

enum { LATE = 25 }; /* a message may be late by 1/25 of a timer */

/* The send queue of the other end, if its messages can be counted; NULL. */
static struct queue *find_sends(struct model *model, const struct life *qp,
				const struct peer **ret_other)
{
	const struct peer *other = qp->peer ? peer_other(&model->peers, qp->peer) : NULL;
	struct queue *sends = other && other->life ? other->life->sq : NULL;

	/* several threads post: the order of their messages is not known */
	if (!sends || sends->doubt || sends->poster == UINT32_MAX || !other->is_rc ||
	    other->since < qp->qp->reset)
		return NULL;
	*ret_other = other;
	return sends;
}

static void note_waiting(struct queue *queue, const struct queue_request *request)
{
	if (!queue->starved++)
		queue->starved_since = request->time;
}

void starved_note(struct model *model, const struct trace_event *event, const struct life *qp,
		  struct queue *queue, uint32_t taken)
{
	const struct peer *other = NULL;
	struct queue *sends;
	int64_t slack;

	queue->starved = 0;
	if (!taken || !qp->qp || queue->doubt)
		return;
	sends = find_sends(model, qp, &other);
	if (!sends || sends->messages <= queue->messages - taken)
		return;
	slack = peer_slack(&model->peers, event->process, other->process);
	for (uint32_t i = 0; i < sends->count; i++) {
		struct queue_request *request = (struct queue_request *)queue_at(sends, i);

		if (request->message > queue->messages - taken &&
		    request->message <= queue->messages && !request->done &&
		    /* before that, no ACK was possible */
		    request->time - slack > qp->qp->rtr.time &&
		    event->time - slack > request->time) {
			request->starved = event->time - slack - request->time;
			note_waiting(queue, request);
		}
	}
}

bool starved_until(const struct queue_request *request, int64_t timer, int64_t end)
{
	return request->starved > 0 &&
	       end - request->time <= request->starved + timer + timer / LATE;
}
