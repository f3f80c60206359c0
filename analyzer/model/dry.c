/*
 * Receive queues that are too small
 *
 *	messages	m1 m2 m3 m4 ------------ m5		sent by all senders
 *	receives	r1 r2 ---------- r3			posted before r3: 2 of 4 waited
 *	m3		   |--- min_rnr_timer ---| done
 *
 * The senders of a queue are examined when a receive is posted, but not each time, since a queue
 * may have many senders.
 */
#include "analyzer/model/dry.h"

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"

enum {
	EXAMINE_NS = 50000, /* ns between two examinations of a queue's senders */
	USER_NS = 1000,     /* ns more for each queue pair of an SRQ */
	ARRIVED = 10000, /* ns after which an undelayed message has arrived; the shortest timer */
	PER_BYTE = 10,   /* ns: a path has at least 100 MB/s */
	BUSY = 4,        /* a path is busy if sending takes 1/BUSY of the time */
};

/*
 * The number of messages that the other end of @qp sent before @time, whether they have arrived or
 * not.
 */
static uint64_t count_sent(struct model *model, const struct trace_event *event,
			   const struct life *qp, int64_t time)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const struct queue *sends = other && other->life ? other->life->sq : NULL;
	int64_t slack;
	uint64_t n;

	if (!sends || sends->doubt || !other->is_rc || !qp->qp || other->since < qp->qp->reset ||
	    qp_state(qp) == ABI_QPS_ERR || qp_state(other->life) != ABI_QPS_RTS)
		return 0;
	slack = peer_slack(&model->peers, event->process, other->process);
	if (slack == INT64_MAX)
		return 0;
	n = sends->messages;
	for (uint32_t i = sends->count; i && queue_at(sends, i - 1)->time > time - slack; i--)
		n -= queue_at(sends, i - 1)->message > 0;
	return n;
}

static __attribute__((noinline)) void estimate_waiting_sends(struct model *model,
							     const struct trace_event *event,
							     const struct life *object,
							     struct queue *queue, uint32_t taken)
{
	uint64_t sent = 0, users = 1, posted = queue->messages - taken;
	int64_t time = event->time - ARRIVED;

	if (object->kind == OBJECT_qp)
		sent = count_sent(model, event, object, time);
	for (const struct life_link *link = object->kind == OBJECT_srq ? object->children : NULL;
	     link; link = link->next_child, users++)
		if (link->child->kind == OBJECT_qp && link->child->state == LIFE_LIVE)
			sent += count_sent(model, event, link->child, time);
	queue->dry.next = event->time + EXAMINE_NS + USER_NS * (int64_t)users;
	if (sent <= posted)
		return;
	queue->dry.until = event->time;
	if (sent - posted > queue->dry.waiting)
		queue->dry.waiting = sent - posted;
}

void dry_note_post(struct model *model, const struct trace_event *event, const struct life *object,
		   struct queue *queue, uint32_t taken)
{
	if (taken && queue->outstanding == taken && !queue->doubt && event->time >= queue->dry.next)
		estimate_waiting_sends(model, event, object, queue, taken);
}

/* The queue that receives the messages of @qp, if its timer is known; else NULL. */
static struct queue *find_receives(struct model *model, const struct life *qp,
				   const struct life **ret_other)
{
	const struct peer *other = peer_find_other(&model->peers, qp->peer);
	const struct life *life = other ? other->life : NULL;

	if (!life || !other->is_rc || !life->rq || !life->rq->owner || life->rq->doubt ||
	    !life->qp || !(life->qp->set & ABI_QP_MIN_RNR_TIMER))
		return NULL;
	*ret_other = life;
	return life->rq;
}

/* Does sending the outstanding requests take a good part of @took? */
static bool is_sending_long(const struct queue *sends, int64_t took)
{
	uint64_t each = sends->stats.bytes / sends->posted;

	return each * sends->outstanding >= (uint64_t)took / BUSY / PER_BYTE;
}

static void add_delay(struct queue_dry *dry, const struct queue_request *request, int64_t now)
{
	int64_t from = request->time > dry->covered ? request->time : dry->covered;

	dry->delayed++;
	dry->stalls += request->time >= dry->covered;
	if (now > from)
		dry->ns += now - from;
	if (now > dry->covered)
		dry->covered = now;
	if (now - request->time > dry->longest) {
		dry->longest = now - request->time;
		dry->example = (struct moment){ .id = queue_id(request),
						.verb = VERB_post_send,
						.stack = request->stack,
						.time = request->time };
	}
}

void dry_note_completion(struct model *model, const struct model_complete *complete)
{
	const struct queue_request *request = complete->request;
	int64_t now = complete->event->time;
	const struct life *other = NULL;
	struct queue *queue;

	if (!request || !complete->qp || complete->event->poll->wc[complete->index].status ||
	    !queue_takes_receive(request->opcode))
		return;
	queue = find_receives(model, complete->qp, &other);
	if (!queue)
		return;
	if (!queue->dry.messages++)
		queue->dry.first = request->time;
	queue->dry.last = now;
	/* the completion came after an empty poll, so it was not polled late */
	if (request->time + ARRIVED > queue->dry.until || !complete->event->poll->empty ||
	    now - request->time < qp_rnr_time(other->qp->min_rnr_timer) ||
	    is_sending_long(complete->queue, now - request->time))
		return;
	add_delay(&queue->dry, request, now);
	queue->dry.example.process = complete->event->process;
	queue->dry.timer = other->qp->min_rnr_timer;
}
