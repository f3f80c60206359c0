/*
 * The queues of an object, from its creation to its end
 *
 * 	creation	a queue with its limits: the requested and the granted ones
 * 	change		RESET empties it, ERR flushes it; a new size
 * 	end no request is outstanding
 *
 * Not here: posts and polls (queues.c).
 */
#include "analyzer/model/queues.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/astray.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue_priv.h"
#include "analyzer/model/overflow.h"
#include "analyzer/model/cq_event.h"

/* Creations */

/* The first argument of @list that @args has; 0, and *@ret_known unchanged, if there is none. */
static uint32_t read_number(const struct args *args, const enum arg *list, bool *ret_known)
{
	int64_t value;

	for (; *list; list++)
		if (args && args_get(args, *list, &value) && value >= 0 && value <= UINT32_MAX) {
			*ret_known = true;
			return (uint32_t)value;
		}
	return 0;
}

#define QP_CAP(member)                                                                          \
	(const enum arg[])                                                                      \
	{                                                                                       \
		ARG(qp_init_attr.cap.member), ARG(qp_init_attr_ex.cap.member),                  \
			ARG(qp_attr.cap.member), ARG(attr.cap.member), ARG(attr_ex.cap.member), \
			ARG_NONE                                                                \
	}

static void limit_sges(struct queue *queue)
{
	const struct queue_limits *limits = &queue->limits;
	uint32_t most =
		limits->sge_asked > limits->sge_given ? limits->sge_asked : limits->sge_given;

	queue->easy_sges = most && most < INT_MAX ? (int)most : INT_MAX;
}

static void limit_send(struct queue *queue, const struct args *in, const struct args *out)
{
	struct queue_limits *limits = &queue->limits;
	bool asked = false;

	limits->asked = read_number(in, QP_CAP(max_send_wr), &asked);
	limits->sge_asked = read_number(in, QP_CAP(max_send_sge), &asked);
	limits->inline_asked = read_number(in, QP_CAP(max_inline_data), &asked);
	limits->given = read_number(out, QP_CAP(max_send_wr), &limits->known);
	limits->sge_given = read_number(out, QP_CAP(max_send_sge), &limits->known);
	limits->inline_given = read_number(out, QP_CAP(max_inline_data), &limits->known);
	limit_sges(queue);
}

static void limit_receive(struct queue *queue, const struct args *in, const struct args *out)
{
	struct queue_limits *limits = &queue->limits;
	bool asked = false;

	limits->asked = read_number(in, QP_CAP(max_recv_wr), &asked);
	limits->sge_asked = read_number(in, QP_CAP(max_recv_sge), &asked);
	limits->given = read_number(out, QP_CAP(max_recv_wr), &limits->known);
	limits->sge_given = read_number(out, QP_CAP(max_recv_sge), &limits->known);
	limit_sges(queue);
}

/* Set the limits of an SRQ or a WQ. */
static void limit_pool(struct queue *queue, const struct args *in, const struct args *out)
{
	static const enum arg max[] = { ARG(srq_init_attr.attr.max_wr),
					ARG(srq_init_attr_ex.attr.max_wr), ARG(wq_init_attr.max_wr),
					ARG_NONE };
	static const enum arg sge[] = { ARG(srq_init_attr.attr.max_sge),
					ARG(srq_init_attr_ex.attr.max_sge),
					ARG(wq_init_attr.max_sge), ARG_NONE };
	struct queue_limits *limits = &queue->limits;
	bool asked = false;

	limits->asked = read_number(in, max, &asked);
	limits->sge_asked = read_number(in, sge, &asked);
	limits->given = read_number(out, max, &limits->known);
	limits->sge_given = read_number(out, sge, &limits->known);
	limit_sges(queue);
}

static unsigned int first_doubt(const struct model *model, const struct trace_event *event)
{
	bool late = event->carried || event->time <= model->whole_from;

	return model->doubt | (late ? QUEUE_LOST : 0);
}

/* The queue pair's requests complete on the CQ in argument @arg of the new object. */
static void attach_cq(struct model *model, struct queue *queue, const struct trace_event *event,
		      const struct args *args, enum arg arg)
{
	struct life *cq = model_argument(model, event, args, arg, OBJECT_cq);

	if (!cq || !cq->cq || queue->cq)
		return;
	queue->cq = queue_cq_get(cq->cq);
	cq->cq->queues++;
	cq->cq->doubt |= first_doubt(model, event);
}

static int make_qp(struct model *model, struct life *qp, const struct trace_event *event)
{
	static const enum arg all[] = {
		ARG(qp_init_attr.sq_sig_all), ARG(qp_init_attr_ex.sq_sig_all),
		ARG(qp_attr.sq_sig_all),      ARG(attr.sq_sig_all),
		ARG(attr_ex.sq_sig_all),      ARG_NONE
	};
	const struct args *in = event->call->args, *out = event->call->out;
	struct life *srq = model_argument(model, event, out, ARG(ret.srq), OBJECT_srq);
	bool known = false;

	qp->sq = queue_new(qp, true);
	qp->rq = srq ? queue_get(srq->rq) : queue_new(qp, false);
	if (!qp->sq || (!srq && !qp->rq))
		return -ENOMEM;
	if (srq && qp->rq) {
		qp->rq->user = qp;
		qp->rq->users++;
	}
	qp->sq->stats.turn = event->id.thread;
	limit_send(qp->sq, in, out);
	attach_cq(model, qp->sq, event, out, ARG(ret.send_cq));
	qp->sq->doubt = first_doubt(model, event);
	qp->sq->datagrams = qp->qp && qp->qp->type == ABI_QPT_UD;
	qp->sq->unreliable = qp->sq->datagrams || (qp->qp && qp->qp->type == ABI_QPT_UC);
	qp->sq->all_signalled = read_number(in, all, &known) != 0;
	if (srq)
		return 0;
	qp->rq->datagrams = qp->sq->datagrams;
	limit_receive(qp->rq, in, out);
	attach_cq(model, qp->rq, event, out, ARG(ret.recv_cq));
	qp->rq->doubt = qp->sq->doubt;
	return 0;
}

static int make_pool(struct model *model, struct life *life, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	struct queue *queue = life->rq = queue_new(life, false);

	if (!queue)
		return -ENOMEM;
	limit_pool(queue, in, event->call->out);
	attach_cq(model, queue, event, in, ARG(srq_init_attr_ex.cq));
	attach_cq(model, queue, event, in, ARG(wq_init_attr.cq));
	queue->doubt = first_doubt(model, event);
	if (!queue->cq)
		return 0;
	queue->pooled = queue->cq->pools;
	queue->cq->pools = queue;
	return 0;
}

static int make_cq(struct life *life, const struct trace_event *event)
{
	static const enum arg asked[] = { ARG(cqe), ARG(cq_attr.cqe), ARG(init_attr.cqe),
					  ARG_NONE };
	static const enum arg given[] = { ARG(ret.cqe), ARG_NONE };
	static const enum arg vector[] = { ARG(comp_vector), ARG(cq_attr.comp_vector),
					   ARG(init_attr.comp_vector), ARG_NONE };
	struct queue_cq *cq = life->cq = calloc(1, sizeof(*cq));
	bool known = false, numbered = false;

	if (!cq)
		return -ENOMEM;
	cq->stats.vector = read_number(event->call->args, vector, &numbered);
	if (!numbered)
		cq->stats.vector = -1;
	cq->fields = -1;
	if (event->call->verb == VERB_create_cq_ex)
		args_get(event->call->args, ARG(init_attr.wc_flags), &cq->fields);
	cq->owner = life;
	cq->refs = 1;
	cq->asked = read_number(event->call->args, asked, &known);
	cq->given = read_number(event->call->out, given, &known);
	return 0;
}

int queues_add_object(struct model *model, struct life *life, const struct trace_event *event)
{
	life->id = event->call->object;
	switch (life->kind) {
	case OBJECT_cq:
		return make_cq(life, event);
	case OBJECT_srq:
	case OBJECT_wq:
		return make_pool(model, life, event);
	case OBJECT_qp:
		if (life->id && map_put(&model->by_id, life->id, (uintptr_t)life))
			return -ENOMEM;
		if (life->id)
			model->qps[life->id % QPS] = NULL;
		return make_qp(model, life, event);
	default:
		return 0;
	}
}

/* Changes */

static void reset_queue(const struct model *model, struct queue *queue,
			const struct trace_event *event)
{
	if (!queue)
		return;
	for (uint32_t i = 0; i < queue->count; i++)
		queue_notify_forget(model, queue, i, true);
	queue->dropped = queue->outstanding;
	queue_clear(queue);
	queue->messages = 0;
	queue->credit.needs = 0;
	queue->doubt = first_doubt(model, event);
}

static void begin_drain(struct queue *queue, const struct trace_event *event)
{
	if (!queue || queue->draining)
		return;
	queue->draining = true;
	queue->drained_from = queue->completed;
	queue->drain = moment_of(event);
}

static void modify_qp(struct model *model, struct life *qp, const struct trace_event *event)
{
	const struct args *in = event->call->args, *out = event->call->out;
	int64_t state;
	bool resized = false;

	if (in && args_get(in, ARG(attr.qp_state), &state) && state == ABI_QPS_RESET) {
		cq_event_reset(model, qp);
		reset_queue(model, qp->sq, event);
		if (qp->rq && qp->rq->owner == qp)
			reset_queue(model, qp->rq, event);
	}
	if (in && args_get(in, ARG(attr.qp_state), &state) && state == ABI_QPS_ERR &&
	    !cm_call_of(model, event)->inside) {
		begin_drain(qp->sq, event);
		if (qp->rq && qp->rq->owner == qp)
			begin_drain(qp->rq, event);
	}
	read_number(in, (const enum arg[]){ ARG(attr.cap.max_send_wr), ARG_NONE }, &resized);
	if (!resized)
		return;
	if (qp->sq)
		limit_send(qp->sq, in, out);
	if (qp->rq && qp->rq->owner == qp)
		limit_receive(qp->rq, in, out);
}

/* The size that the device granted is not in the trace. */
static void resize_pool(struct life *life, const struct args *in)
{
	int64_t max;

	if (!life->rq || !in || !args_get(in, ARG(srq_attr.max_wr), &max) || max <= 0)
		return;
	life->rq->limits.asked = (uint32_t)max;
	life->rq->limits.given = 0;
}

static void note_limit(struct life *life, const struct trace_event *event)
{
	int64_t limit;

	if (!life->rq || !args_get(event->call->args, ARG(srq_attr.srq_limit), &limit) ||
	    limit <= 0 || limit > UINT32_MAX)
		return;
	life->rq->armed = moment_of(event);
	if (limit <= life->rq->limit)
		return;
	life->rq->limit = (uint32_t)limit;
	life->rq->limited = moment_of(event);
}

static void resize_cq(struct life *life, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	int64_t cqe;

	if (!life->cq || !in || !args_get(in, ARG(cqe), &cqe))
		return;
	life->cq->asked = (uint32_t)cqe;
	life->cq->given = 0;
	life->cq->resized = moment_of(event);
}

static void moderate_cq(struct life *life, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	int64_t count, us;

	if (!life->cq || !in || !args_get(in, ARG(attr.moderate.cq_count), &count) ||
	    !args_get(in, ARG(attr.moderate.cq_period), &us))
		return;
	life->cq->moderate_count = (uint16_t)count;
	life->cq->moderate_us = (uint16_t)us;
	life->cq->moderated = moment_of(event);
}

void queues_process_call(struct model *model, struct life *life, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	int64_t value;

	switch (event->call->verb) {
	case VERB_modify_qp:
		modify_qp(model, life, event);
		break;
	case VERB_modify_srq:
		if (in && args_get(in, ARG(srq_attr_mask), &value) && value & ABI_SRQ_MAX_WR)
			resize_pool(life, in);
		if (in && args_get(in, ARG(srq_attr_mask), &value) && value & ABI_SRQ_LIMIT)
			note_limit(life, event);
		break;
	case VERB_modify_wq:
		if (in && args_get(in, ARG(wq_attr.wq_state), &value) && value == ABI_WQS_RESET)
			reset_queue(model, life->rq, event);
		break;
	case VERB_resize_cq:
		resize_cq(life, event);
		break;
	case VERB_modify_cq:
		moderate_cq(life, event);
		break;
	case VERB_post_srq_ops:
		if (life->rq)
			life->rq->doubt |= QUEUE_UNSEEN;
		break;
	default:
		break;
	}
}

void queues_end_process(struct model *model, struct life *life, bool killed)
{
	if ((life->sq || life->rq || life->cq) && model->watcher.retire)
		model->watcher.retire(model->watcher.arg, life);
	astray_end_process(model, life);
	if (life->sq)
		overflow_end_queue(&model->watcher, life->sq, killed);
	if (life->rq && life->rq->owner == life)
		overflow_end_queue(&model->watcher, life->rq, killed);
}

static void unlink_pool(struct queue *queue)
{
	struct queue **at = queue->cq ? &queue->cq->pools : NULL;

	while (at && *at && *at != queue)
		at = &(*at)->pooled;
	if (at && *at)
		*at = queue->pooled;
}

/* Objects that still refer to the queue (a QP to its SRQ's queue) find it empty. */
static void end_queue(struct life *life, struct queue **queue)
{
	if (*queue && (*queue)->owner == life) {
		queue_clear(*queue);
		unlink_pool(*queue);
		if ((*queue)->cq)
			(*queue)->cq->queues--;
		(*queue)->owner = NULL;
		(*queue)->doubt |= QUEUE_OLDER;
	}
	queue_put(*queue);
	*queue = NULL;
}

static void remember_unpolled(struct model *model, const struct life *qp)
{
	struct queue_destroyed *left;

	if (!model->left && !(model->left = calloc(LEFT, sizeof(*left))))
		return; /* if out of memory, one finding is missing */
	left = &model->left[model->nleft++ % LEFT];
	*left = (struct queue_destroyed){ .process = qp->process,
					  .number = qp->number,
					  .requests = qp->sq->signalled,
					  .created = qp->created,
					  .destroyed = qp->destroyed };
	memcpy(left->name, qp->name, sizeof(left->name));
}

static void note_lost_receives(const struct life *life)
{
	if (!life->rq || life->rq->owner == life ||
	    !cq_event_has_unread(life, life->destroyed.time))
		return;
	life->rq->unread_users++;
	life->rq->unread += life->arrived - life->taken;
	memcpy(life->rq->unread_user, life->name, sizeof(life->rq->unread_user));
	if (!life->rq->unread_gone)
		life->rq->unread_gone = life->destroyed.time;
}

void queues_remove_object(struct model *model, struct life *life, bool freed)
{
	if (life->sq && life->sq->signalled && !life->sq->doubt)
		remember_unpolled(model, life);
	if (life->rq && life->rq->user == life)
		life->rq->user = NULL;
	if (life->rq && life->rq->owner != life && life->sq && life->sq->draining &&
	    !life->rq->user_gone)
		life->rq->user_gone = life->destroyed.time;
	note_lost_receives(life);
	steady_end_queue(model, life);
	end_queue(life, &life->sq);
	end_queue(life, &life->rq);
	if (life->cq) {
		life->cq->owner = NULL;
		queue_cq_put(life->cq);
		life->cq = NULL;
	}
	if (!freed || life->kind != OBJECT_qp || !life->id || life->inherited)
		return;
	map_remove(&model->by_id, life->id);
	model->qps[life->id % QPS] = NULL;
}
