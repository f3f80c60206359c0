/*
 * Messages that found no receive
 *
 *	sender    m1 ---- m2 m3 ------------------		queue.messages: 3
 *	peer      r1 ------------ r2 ----- r3 ----		m2 and m3 were starved
 */
#include "analyzer/model/starved.h"

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"

enum {
	LATE = 25,                  /* a message may be late by 1/25 of a timer */
	LONGEST_RNR_NS = 655360000, /* ns: the longest RNR timer */
	ENDLESS_RETRIES = 7,        /* rnr_retry without a limit */
};

/* The send queue of the other end, if its messages can be counted; else NULL. */
static struct queue *find_sends(struct model *model, const struct life *qp,
				const struct peer **ret_other)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
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

/* Remember the longest time without a receive, once there had been one. */
static void note_lack(const struct trace_event *event, const struct life *sender,
		      struct queue *queue, uint32_t taken, int64_t slack)
{
	const struct queue *sends = sender->sq;
	int64_t lack = event->time - slack - queue->starved_since;

	if (!queue->starved || queue->messages == taken || lack <= queue->dry.lack)
		return;
	queue->dry.lack = lack;
	queue->dry.lacking = sends->messages - (queue->messages - taken);
	queue->dry.replenished = moment_of(event);
	for (uint32_t i = 0; i < sends->count; i++)
		if (queue_at(sends, i)->starved && queue_at(sends, i)->time == queue->starved_since)
			queue->dry.lacked = queue_moment(sends, queue_at(sends, i));
}

void starved_note_post(struct model *model, const struct trace_event *event, const struct life *qp,
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
	note_lack(event, other->life, queue, taken, slack);
}

bool starved_explains(const struct queue_request *request, int64_t timer, int64_t end)
{
	return request->starved > 0 &&
	       end - request->time <= request->starved + timer + timer / LATE;
}

/* How long @request had no receive, and the longest timer that may have been running at the end. */
static int64_t find_starved(struct model *model, const struct life *qp,
			    const struct queue_request *request)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const struct life *life = other ? other->life : NULL;
	const struct queue *receives = life ? life->rq : NULL;
	int64_t slack;

	if (!receives || receives->doubt || receives->owner != life || !life->qp ||
	    qp->sq->poster == UINT32_MAX || qp->peer->since < life->qp->reset ||
	    request->message > receives->messages)
		return INT64_MAX;
	slack = peer_slack(&model->peers, qp->process, other->process);
	if (slack > LONGEST_RNR_NS || request->time - slack <= life->qp->rtr.time)
		return INT64_MAX; /* starved_note_post() */
	return request->starved || slack ? request->starved + 2 * slack + LONGEST_RNR_NS : 0;
}

int64_t starved_limit(struct model *model, const struct life *qp,
		      const struct queue_request *request)
{
	int64_t starved = find_starved(model, qp, request), most = INT64_MAX;

	if (qp->qp && qp->qp->set & ABI_QP_RNR_RETRY && qp->qp->rnr_retry != ENDLESS_RETRIES)
		most = (int64_t)(qp->qp->rnr_retry + 1) * LONGEST_RNR_NS;
	return starved < most ? starved : most;
}
