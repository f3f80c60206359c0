/*
 * The effects of events on queues
 */
#include "analyzer/model/qp_events.h"

#include <stdint.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"

static void report_invalid_post(struct model *model, const struct trace_event *event,
				const struct life *life, enum invalid_post what, uint32_t index)
{
	struct model_invalid_post invalid_post = {
		.event = event, .object = life, .what = what, .index = index
	};

	model->watcher.invalid_post(model->watcher.arg, &invalid_post);
}

/* Calls */

/* Note a queue pair that librdmacm moves to RTR without receives: then the peer may send. */
static void note_no_receives(struct model *model, const struct trace_event *event,
			     struct life *life, int state)
{
	const struct queue *receives = life->rq;

	if (life->qp->type == ABI_QPT_RC && state == ABI_QPS_RTR && !event->call->failed)
		life->qp->bare = cm_call_of(model, event)->inside && receives &&
				 receives->owner == life && !receives->posted && !receives->doubt;
}

static bool has_polled_since(const struct queue *queue, int64_t time)
{
	return queue && queue->polled > time;
}

/*
 * Was @life reset and connected again, while its other end is still in the old connection? If
 * messages have arrived over the new connection, the other end no longer expects the first PSN.
 */
static bool is_peer_stale(struct model *model, const struct life *life)
{
	const struct peer *other = peer_find_other(&model->peers, life->peer);
	const struct life *end = other ? other->life : NULL;
	int64_t slack = other ? peer_slack(&model->peers, life->process, other->process) : 0;

	return end && end->qp && other->since < life->qp->reset - slack &&
	       (has_polled_since(end->sq, other->since) ||
		(end->rq && end->rq->owner == end && has_polled_since(end->rq, other->since)));
}

/* Has that other end sent messages, although @life expects the PSN of its first? */
static bool is_peer_ahead(struct model *model, const struct life *life)
{
	const struct peer *other = peer_find_other(&model->peers, life->peer);
	const struct life *end = other->life;

	return has_polled_since(end->sq, other->since) && life->qp->set & ABI_QP_RQ_PSN &&
	       end->qp->set & ABI_QP_SQ_PSN && life->qp->rq_psn == end->qp->sq_psn;
}

static void end_modify(struct model *model, const struct trace_event *event, struct life *life)
{
	struct qp_change change = qp_read_change(life, event->call->args);
	struct model_modify modify = { .event = event,
				       .object = life,
				       .from = life->qp->changing == 1 ? life->qp->state
								       : QP_UNKNOWN,
				       .to = change.to,
				       .mask = change.mask };

	if (modify.to == QP_UNKNOWN)
		modify.to = modify.from;
	modify.wrong = !transition_check(life->qp->type, modify.from, modify.to, modify.mask,
					 &modify.fault);
	life->qp->by_cm |= cm_call_of(model, event)->inside;
	if (change.to == ABI_QPS_RESET && life->qp->spare.posted && !event->call->failed)
		report_invalid_post(model, event, life, INVALID_POST_SPARE, 0);
	qp_note_modified(life, event);
	note_no_receives(model, event, life, change.to);
	peer_connect(&model->peers, life);
	if (life->peer && change.to == ABI_QPS_RTR && life->qp->type == ABI_QPT_RC) {
		life->peer->alone = life->qp->reset && is_peer_stale(model, life);
		life->peer->behind = life->peer->alone && is_peer_ahead(model, life);
	}
	if (life->kind == OBJECT_qp && !event->inner && !event->call->depth)
		model->watcher.modify(model->watcher.arg, &modify);
}

void qp_process_call(struct model *model, const struct trace_event *event)
{
	const struct call *call = event->call;
	enum object_kind kind = call->verb == VERB_modify_wq ? OBJECT_wq : OBJECT_qp;
	struct life *life;

	if ((call->verb != VERB_modify_qp && call->verb != VERB_modify_wq &&
	     call->verb != VERB_query_qp) ||
	    call->ours)
		return;
	life = model_find(model, event->process, kind, call->handle);
	if (!life || !life->qp)
		return;
	if (call->verb == VERB_query_qp && event->kind == TRACE_RETURN)
		qp_note_queried(life, event);
	else if (call->verb != VERB_query_qp && event->kind == TRACE_CALL)
		qp_begin_modify(life);
	else if (call->verb != VERB_query_qp)
		end_modify(model, event, life);
}

/* Posts */

/* An opcode that is not among the 32 possible ones is not checked. */
static void check_opcodes(struct model *model, const struct trace_event *event, struct life *life)
{
	const struct post *post = event->post;
	uint32_t allowed = life->qp->opcodes;

	/* up to TSO the bits of send_ops_flags are those of the opcodes */
	if (post->verb != VERB_post_send && life->qp->has_send_ops)
		allowed &= (uint32_t)life->qp->send_ops | ~0u << (ABI_WR_TSO + 1);
	for (uint32_t i = 0; i < post->nwr; i++) {
		uint32_t opcode = (uint32_t)post->wr[i].opcode;

		if (opcode > 31 || allowed >> opcode & 1)
			continue;
		report_invalid_post(model, event, life,
				    life->qp->opcodes >> opcode & 1 ? INVALID_POST_OPS
								    : INVALID_POST_OPCODE,
				    i);
		return;
	}
}

/*
 * After an error a program may handle the other completions of the same poll, and after it has put
 * the queue pair into ERR it may post a request whose flush shows that all others were flushed.
 * Other threads may learn of the error later.
 */
static bool is_allowed_post(const struct life *life, const struct trace_event *event, bool send)
{
	enum { NOTICE_NS = 1000000000 };
	const struct qp *qp = life->qp;
	uint32_t excused = (qp->polled ? qp->polled - 1 : 0) + !qp->error_reported;

	return qp->after[send] <= excused || (qp->moved.id.thread != event->id.thread &&
					      event->time < qp->moved.time + NOTICE_NS);
}

static bool is_without_data(const struct post *post)
{
	return post->nwr == 1 && !post->wr->nsge;
}

/* After an error a request without data may be posted for its flush, too. */
static bool is_mark(const struct qp *qp, const struct post *post, bool send)
{
	return qp->error_reported && qp->status && !qp->marked[send] && is_without_data(post);
}

/*
 * Does the thread send on a queue pair whose connection could not be made, as an event has told it?
 * A request without data may be posted for its flush.
 */
static bool is_unconnected_send(const struct life *life, const struct trace_event *event, bool send)
{
	const struct life *id = qp_find_unmade(life);

	return send && id && id->unmade.id.thread == event->id.thread && !life->qp->rtr.id.thread &&
	       !is_without_data(event->post);
}

/*
 * Does another thread still post, although the thread that polled the error had time to stop it? It
 * had time if it has polled another completion in error since.
 */
static bool is_late_post(struct qp *qp, const struct trace_event *event)
{
	enum { SOON = 10000000, POSTS = 3 };

	if (!qp->error_reported || !qp->status || qp->moved.id.thread == event->id.thread ||
	    event->time < qp->moved.time + SOON)
		return false;
	qp->late.posts = qp->late.thread == event->id.thread ? qp->late.posts + 1 : 1;
	qp->late.thread = event->id.thread;
	return qp->late.posts == POSTS && qp->late.flushed;
}

/*
 * A program that knows of the error by its own call or an event may wait until its requests are
 * flushed. It does not if it posts again after such a flush.
 */
static bool may_await_flush(const struct life *life, const struct post *post)
{
	const struct qp *qp = life->qp;

	return !(qp->error_reported && qp->status) && post_taken(post) == post->nwr &&
	       !qp->spare.flushed;
}

static void note_spare(struct qp *qp, const struct trace_event *event)
{
	if (!qp->spare.posted)
		qp->spare.first = moment_of(event);
	qp->spare.posted += event->post->nwr;
}

static void judge_in_error(struct model *model, const struct trace_event *event, struct life *life,
			   bool send)
{
	struct qp *qp = life->qp;

	if (is_mark(qp, event->post, send))
		qp->marked[send] = true;
	else
		qp->after[send] += event->post->nwr;
	if (qp->judged)
		return;
	if (is_unconnected_send(life, event, send)) {
		qp->judged = true;
		report_invalid_post(model, event, life, INVALID_POST_ERROR, 0);
	} else if (is_allowed_post(life, event, send)) {
		if (send && is_late_post(qp, event))
			report_invalid_post(model, event, life, INVALID_POST_LATE, 0);
	} else if (may_await_flush(life, event->post)) {
		note_spare(qp, event);
	} else {
		qp->judged = true;
		report_invalid_post(model, event, life, INVALID_POST_ERROR, 0);
	}
}

void qp_process_post(struct model *model, const struct trace_event *event, struct life *life)
{
	const struct post *post = event->post;
	bool send = post_is_send(post);
	int state = life && life->state == LIFE_LIVE ? qp_state(life) : QP_UNKNOWN;

	if (state == QP_UNKNOWN || life->kind != OBJECT_qp || life->qp->type == ABI_QPT_DRIVER ||
	    life->qp->type == QP_UNKNOWN || !post->nwr)
		return;
	if (send)
		check_opcodes(model, event, life);
	if (post->verb == VERB_wr_abort)
		return;
	if (state == ABI_QPS_ERR) {
		judge_in_error(model, event, life, send);
	} else if (!send && life->qp->srq) {
		report_invalid_post(model, event, life, INVALID_POST_SRQ, 0);
	} else if (send ? state < ABI_QPS_RTS : state == ABI_QPS_RESET) {
		report_invalid_post(model, event, life, INVALID_POST_STATE, 0);
	}
}

/* Errors */

/* Is @wc the first completion of the queue pair, also within this poll? */
static bool is_first_wc(const struct life *life, const struct poll *poll, const struct wc *wc)
{
	if (!life->sq || life->sq->completed || life->sq->doubt ||
	    (life->rq && life->rq->owner == life && life->rq->completed))
		return false;
	for (const struct wc *before = poll->wc; before < wc; before++)
		if (before->qp == wc->qp)
			return false;
	return true;
}

static void report_unreached(struct model *model, const struct trace_event *event,
			     const struct life *life, const struct wc *wc)
{
	struct model_unreached unreached = { .event = event,
					     .object = life,
					     .index = (uint32_t)(wc - event->poll->wc) };

	if (wc->status == ABI_WC_RETRY_EXC_ERR && life->qp && life->state == LIFE_LIVE &&
	    is_first_wc(life, event->poll, wc))
		model->watcher.unreached(model->watcher.arg, &unreached);
}

/* A request that failed: was it posted in ERR? */
static void note_flush(struct qp *qp, const struct wc *wc)
{
	if (qp && qp->spare.posted && wc->request.thread && wc->posted_at >= qp->spare.first.time)
		qp->spare.flushed++;
}

void qp_process_completion(struct model *model, const struct trace_event *event,
			   const struct wc *wc)
{
	const struct object *object =
		wc->qp && model->trace ? trace_object(model->trace, wc->qp) : NULL;
	struct moment moment = { .id = event->id,
				 .verb = event->poll->verb,
				 .process = event->process,
				 .time = event->time };
	struct life *life;

	if (!object || object->kind != OBJECT_qp)
		return;
	life = model_find(model, event->process, OBJECT_qp, object->handle);
	if (!life || life->number != object->number)
		return;
	report_unreached(model, event, life, wc);
	note_flush(life->qp, wc);
	if (life->qp && life->qp->error_reported && life->qp->moved.id.thread == event->id.thread &&
	    life->qp->moved.id.n != event->id.n)
		life->qp->late.flushed = true;
	if (life->qp && !life->qp->error_reported && life->qp->state != ABI_QPS_ERR)
		life->qp->polled = event->poll->nwc;
	qp_note_failed(life, &moment, wc->status, wc->request.thread ? wc->posted_at : 0);
}

void qp_process_async(struct life *life, const struct trace_event *event, int64_t type)
{
	struct moment moment = moment_of(event);

	if (type == ABI_EVENT_QP_FATAL || type == ABI_EVENT_QP_REQ_ERR ||
	    type == ABI_EVENT_QP_ACCESS_ERR)
		qp_note_failed(life, &moment, 0, INT64_MAX);
}
