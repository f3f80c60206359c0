/*
 * What events do to the queues
 *
 *	creation	a queue with its limits: those that were asked for, and the device's answer
 *	post		requests are outstanding
 *	completion	one is retired: which one, the trace has found out (core/store/read/match.h)
 *	RESET, end	nothing is outstanding
 *
 * A post has the time at which it began, a poll the time at which it ended: so a
 * completion never comes before its request. But requests that another thread
 * posted meanwhile seem to be older than the poll: where several threads are at
 * work, `poster' and `poller' tell, and numbers are not exact.
 *
 * Not here: the rings (queue.c).
 */
#include "analyzer/model/queues.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/hot.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/queue_priv.h"
#include "analyzer/model/wake.h"
#include "analyzer/model/strain.h"
#include "core/wire/log.h"

enum {
	MANY = -1,
	UNKNOWN_MAX = 1 << 16, /* requests of a queue whose size is not known */
};

/* Creations */

/* The first of @paths that @args has; 0, and *@ret_known untouched, if it has none. */
static uint32_t read_number(const struct args *args, const char *const *paths, bool *ret_known)
{
	int64_t value;

	for (; *paths; paths++)
		if (args && args_get(args, *paths, &value) && value >= 0 && value <= UINT32_MAX) {
			*ret_known = true;
			return (uint32_t)value;
		}
	return 0;
}

#define QP_CAP(member)                                                                            \
	(const char *const[])                                                                     \
	{                                                                                         \
		"qp_init_attr.cap." member, "qp_init_attr_ex.cap." member, "qp_attr.cap." member, \
			"attr.cap." member, "attr_ex.cap." member, NULL                           \
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

	limits->asked = read_number(in, QP_CAP("max_send_wr"), &asked);
	limits->sge_asked = read_number(in, QP_CAP("max_send_sge"), &asked);
	limits->inline_asked = read_number(in, QP_CAP("max_inline_data"), &asked);
	limits->given = read_number(out, QP_CAP("max_send_wr"), &limits->known);
	limits->sge_given = read_number(out, QP_CAP("max_send_sge"), &limits->known);
	limits->inline_given = read_number(out, QP_CAP("max_inline_data"), &limits->known);
	limit_sges(queue);
}

static void limit_receive(struct queue *queue, const struct args *in, const struct args *out)
{
	struct queue_limits *limits = &queue->limits;
	bool asked = false;

	limits->asked = read_number(in, QP_CAP("max_recv_wr"), &asked);
	limits->sge_asked = read_number(in, QP_CAP("max_recv_sge"), &asked);
	limits->given = read_number(out, QP_CAP("max_recv_wr"), &limits->known);
	limits->sge_given = read_number(out, QP_CAP("max_recv_sge"), &limits->known);
	limit_sges(queue);
}

/* Of an SRQ or a WQ. */
static void limit_pool(struct queue *queue, const struct args *in, const struct args *out)
{
	static const char *const max[] = { "srq_init_attr.attr.max_wr",
					   "srq_init_attr_ex.attr.max_wr", "wq_init_attr.max_wr",
					   NULL };
	static const char *const sge[] = { "srq_init_attr.attr.max_sge",
					   "srq_init_attr_ex.attr.max_sge", "wq_init_attr.max_sge",
					   NULL };
	struct queue_limits *limits = &queue->limits;
	bool asked = false;

	limits->asked = read_number(in, max, &asked);
	limits->sge_asked = read_number(in, sge, &asked);
	limits->given = read_number(out, max, &limits->known);
	limits->sge_given = read_number(out, sge, &limits->known);
	limit_sges(queue);
}

static struct life *find_object(struct model *model, const struct trace_event *event,
				const struct args *args, const char *path, enum object_kind kind)
{
	int64_t handle;

	if (!args || !args_get(args, path, &handle))
		return NULL;
	return model_find(model, event->process, kind, (uint64_t)handle);
}

static unsigned int first_doubt(const struct model *model, const struct trace_event *event)
{
	bool late = event->carried || event->time <= model->whole_from;

	return model->doubt | (late ? QUEUE_LOST : 0);
}

/* The queue pair's requests complete on the CQ that @path of the new object names. */
static void attach_cq(struct model *model, struct queue *queue, const struct trace_event *event,
		      const struct args *args, const char *path)
{
	struct life *cq = find_object(model, event, args, path, OBJECT_cq);

	if (!cq || !cq->cq || queue->cq)
		return;
	queue->cq = queue_cq_get(cq->cq);
	cq->cq->queues++;
	cq->cq->doubt |= first_doubt(model, event);
}

static int make_qp(struct model *model, struct life *qp, const struct trace_event *event)
{
	static const char *const all[] = { "qp_init_attr.sq_sig_all", "qp_init_attr_ex.sq_sig_all",
					   "qp_attr.sq_sig_all",      "attr.sq_sig_all",
					   "attr_ex.sq_sig_all",      NULL };
	const struct args *in = event->call->args, *out = event->call->out;
	struct life *srq = find_object(model, event, out, "ret.srq", OBJECT_srq);
	bool known = false;

	qp->sq = queue_new(qp, true);
	qp->rq = srq ? queue_get(srq->rq) : queue_new(qp, false);
	if (!qp->sq || (!srq && !qp->rq))
		return -ENOMEM;
	limit_send(qp->sq, in, out);
	attach_cq(model, qp->sq, event, out, "ret.send_cq");
	qp->sq->doubt = first_doubt(model, event);
	qp->sq->all_signalled = read_number(in, all, &known) != 0;
	if (srq)
		return 0;
	limit_receive(qp->rq, in, out);
	attach_cq(model, qp->rq, event, out, "ret.recv_cq");
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
	attach_cq(model, queue, event, in, "srq_init_attr_ex.cq");
	attach_cq(model, queue, event, in, "wq_init_attr.cq");
	queue->doubt = first_doubt(model, event);
	if (!queue->cq)
		return 0;
	queue->pooled = queue->cq->pools;
	queue->cq->pools = queue;
	return 0;
}

static int make_cq(struct life *life, const struct trace_event *event)
{
	static const char *const asked[] = { "cqe", "cq_attr.cqe", "init_attr.cqe", NULL };
	static const char *const given[] = { "ret.cqe", NULL };
	struct queue_cq *cq = life->cq = calloc(1, sizeof(*cq));
	bool known = false;

	if (!cq)
		return -ENOMEM;
	cq->owner = life;
	cq->refs = 1;
	cq->asked = read_number(event->call->args, asked, &known);
	cq->given = read_number(event->call->out, given, &known);
	return 0;
}

int queues_make(struct model *model, struct life *life, const struct trace_event *event)
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
	queue_clear(queue);
	queue->doubt = first_doubt(model, event);
}

static void begin_drain(struct queue *queue, const struct trace_event *event)
{
	if (!queue || queue->draining)
		return;
	queue->draining = true;
	queue->drained_from = queue->completed;
	queue->drain = (struct moment){ .id = event->id,
					.verb = event->call->verb,
					.process = event->process,
					.stack = event->call->stack,
					.time = event->call->begin };
}

static void modify_qp(struct model *model, struct life *qp, const struct trace_event *event)
{
	const struct args *in = event->call->args, *out = event->call->out;
	int64_t state;
	bool resized = false;

	if (in && args_get(in, "attr.qp_state", &state) && state == ABI_QPS_RESET) {
		wake_reset(model, qp);
		reset_queue(model, qp->sq, event);
		if (qp->rq && qp->rq->owner == qp)
			reset_queue(model, qp->rq, event);
	}
	if (in && args_get(in, "attr.qp_state", &state) && state == ABI_QPS_ERR &&
	    !cm_call_of(model, event)->inside) {
		begin_drain(qp->sq, event);
		if (qp->rq && qp->rq->owner == qp)
			begin_drain(qp->rq, event);
	}
	read_number(in, (const char *const[]){ "attr.cap.max_send_wr", NULL }, &resized);
	if (!resized)
		return;
	if (qp->sq)
		limit_send(qp->sq, in, out);
	if (qp->rq && qp->rq->owner == qp)
		limit_receive(qp->rq, in, out);
}

/* What the device made of it is not in the trace. */
static void resize_pool(struct life *life, const struct args *in)
{
	int64_t max;

	if (!life->rq || !in || !args_get(in, "srq_attr.max_wr", &max) || max <= 0)
		return;
	life->rq->limits.asked = (uint32_t)max;
	life->rq->limits.given = 0;
}

static void resize_cq(struct life *life, const struct args *in)
{
	int64_t cqe;

	if (!life->cq || !in || !args_get(in, "cqe", &cqe))
		return;
	life->cq->asked = (uint32_t)cqe;
	life->cq->given = 0;
}

void queues_change(struct model *model, struct life *life, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	int64_t value;

	switch (event->call->verb) {
	case VERB_modify_qp:
		modify_qp(model, life, event);
		break;
	case VERB_modify_srq:
		if (in && args_get(in, "srq_attr_mask", &value) && value & ABI_SRQ_MAX_WR)
			resize_pool(life, in);
		break;
	case VERB_modify_wq:
		if (in && args_get(in, "wq_attr.wq_state", &value) && value == ABI_WQS_RESET)
			reset_queue(model, life->rq, event);
		break;
	case VERB_resize_cq:
		resize_cq(life, in);
		break;
	case VERB_post_srq_ops:
		if (life->rq)
			life->rq->doubt |= QUEUE_UNSEEN;
		break;
	default:
		break;
	}
}

void queues_end(struct model *model, struct life *life, bool killed)
{
	if ((life->sq || life->rq || life->cq) && model->watcher.retire)
		model->watcher.retire(model->watcher.arg, life);
	if (life->sq)
		strain_end(&model->watcher, life->sq, killed);
	if (life->rq && life->rq->owner == life)
		strain_end(&model->watcher, life->rq, killed);
}

static void leave_pool(struct queue *queue)
{
	struct queue **at = queue->cq ? &queue->cq->pools : NULL;

	while (at && *at && *at != queue)
		at = &(*at)->pooled;
	if (at && *at)
		*at = queue->pooled;
}

/* Those who still refer to it (a QP to its SRQ's) find it empty. */
static void end_queue(struct life *life, struct queue **queue)
{
	if (*queue && (*queue)->owner == life) {
		queue_clear(*queue);
		leave_pool(*queue);
		if ((*queue)->cq)
			(*queue)->cq->queues--;
		(*queue)->owner = NULL;
		(*queue)->doubt |= QUEUE_OLDER;
	}
	queue_put(*queue);
	*queue = NULL;
}

static void remember_left(struct model *model, const struct life *qp)
{
	struct queue_left *left;

	if (!model->left && !(model->left = calloc(LEFT, sizeof(*left))))
		return; /* one finding less */
	left = &model->left[model->nleft++ % LEFT];
	*left = (struct queue_left){ .process = qp->process,
				     .number = qp->number,
				     .requests = qp->sq->signalled,
				     .created = qp->created,
				     .destroyed = qp->destroyed };
	memcpy(left->name, qp->name, sizeof(left->name));
}

void queues_leave(struct model *model, struct life *life, bool freed)
{
	if (life->sq && life->sq->signalled && !life->sq->doubt)
		remember_left(model, life);
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

/* Posts */

static void note_thread(uint32_t *known, uint32_t thread)
{
	if (*known != thread)
		*known = *known ? (uint32_t)MANY : thread;
}

/* A device gives at most twice what was asked for: we have missed completions. */
static void limit_ring(struct queue *queue)
{
	uint32_t most = queue->limits.given > queue->limits.asked ? queue->limits.given
								  : queue->limits.asked;
	uint64_t max = most ? (uint64_t)most * 2 : UNKNOWN_MAX;

	if (queue->outstanding < max)
		return;
	queue->doubt |= QUEUE_LOST;
	for (uint32_t i = 0; i < queue->count; i++)
		if (!queue_at(queue, i)->done) {
			queue_retire(queue, i);
			return;
		}
}

static int push_wr(struct model *model, struct queue *queue, const struct trace_event *event,
		   const struct wr *wr, uint32_t i, uint32_t stack)
{
	struct queue_request request = {
		.wr_id = wr->wr_id,
		.n = event->id.n,
		.time = event->time,
		.remote_addr = wr->remote_addr,
		.ah = wr->ah,
		.thread = event->id.thread,
		.index = i,
		.stack = stack,
		.rkey = wr->rkey,
		.nsge = (uint16_t)wr->nsge,
		.opcode = (int16_t)wr->opcode,
		.flags = (uint16_t)wr->send_flags,
		.signalled = !queue->send || queue->all_signalled ||
			     (wr->send_flags & ABI_SEND_SIGNALED),
	};

	limit_ring(queue);
	queue->run = request.signalled ? 0 : queue->run + 1;
	queue->posted++;
	queue->stats.signalled += request.signalled;
	if (queue_push(queue, &model->busy, &request, wr->sge))
		return -ENOMEM;
	if (!queue->wr_ids.off && request.signalled &&
	    unique_add(&queue->wr_ids, request.wr_id, queue->high) == UNIQUE_TWICE)
		strain_twice(&model->watcher, queue, false);
	if (!queue->buffers.off && queue_fills(&request) &&
	    unique_add(&queue->buffers, wr->sge[0].addr, queue->high) == UNIQUE_TWICE)
		strain_twice(&model->watcher, queue, true);
	return 0;
}

static void count_small(struct queue *queue, const struct post *post, uint32_t taken)
{
	for (uint32_t i = 0; i < taken; i++) {
		const struct wr *wr = &post->wr[i];
		uint64_t bytes = 0;

		for (uint32_t j = 0; j < wr->nsge; j++)
			bytes += wr->sge[j].length;
		if (bytes > queue->limits.inline_given)
			continue;
		queue->stats.small++;
		queue->stats.small_inline += (wr->send_flags & ABI_SEND_INLINE) != 0;
	}
}

static void count_post(struct queue *queue, const struct trace_event *event, uint32_t taken)
{
	struct queue_stats *stats = &queue->stats;

	stats->posts++;
	stats->chased += event->post->nwr == 1 && event->id.n == stats->last_n + 1 &&
			 event->id.thread == stats->last_thread &&
			 event->time - stats->last_time < QUEUE_CHASED;
	stats->last_n = event->post->nwr == 1 ? event->id.n : 0;
	stats->last_thread = event->id.thread;
	stats->last_time = event->time;
	if (queue->send && queue->limits.inline_given)
		count_small(queue, event->post, taken);
}

static void tell_post(struct model *model, const struct trace_event *event,
		      const struct life *object, const struct queue *queue, uint32_t taken)
{
	struct model_post told = {
		.event = event, .object = object, .queue = queue, .taken = taken
	};

	if (model->watcher.post)
		model->watcher.post(model->watcher.arg, &told);
}

int queues_post(struct model *model, const struct trace_event *event, struct life *object)
{
	const struct post *post = event->post;
	bool send = post_is_send(post);
	uint32_t taken = post_taken(post);
	struct queue *queue = NULL;

	if (object && !object->inherited)
		queue = send ? object->sq : object->rq;
	if (queue && queue->owner != object)
		queue = NULL; /* a receive, but the receives are an SRQ's */
	if (queue)
		note_thread(&queue->poster, event->id.thread);
	for (uint32_t i = 0; queue && i < taken; i++)
		if (push_wr(model, queue, event, &post->wr[i], i, post->stack))
			return log_err(-ENOMEM, "outstanding requests");
	if (queue && taken)
		count_post(queue, event, taken);
	if (hot_post(model, event))
		return log_err(-ENOMEM, "posts of a process");
	tell_post(model, event, object, queue, taken);
	if (queue && strain_post(&model->watcher, event, queue, taken))
		return log_err(-ENOMEM, "refused posts");
	return 0;
}

int queues_bind(struct model *model, struct life *qp, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	struct wr wr = { .opcode = ABI_WR_BIND_MW };
	int64_t wr_id = 0, flags = 0;

	if (!qp || !qp->sq || !in)
		return 0;
	args_get(in, "mw_bind.wr_id", &wr_id);
	args_get(in, "mw_bind.send_flags", &flags);
	wr.wr_id = (uint64_t)wr_id;
	wr.send_flags = (uint32_t)flags;
	return push_wr(model, qp->sq, event, &wr, 0, event->call->stack);
}

/* Completions */

static struct life *find_qp(struct model *model, uint32_t id)
{
	struct life **cached = &model->qps[id % QPS];
	uint64_t life;

	if (*cached && (*cached)->id == id)
		return *cached;
	if (!id || !map_get(&model->by_id, id, &life))
		return NULL;
	*cached = (struct life *)(uintptr_t)life;
	return *cached;
}

/* Where is the request of @wc outstanding? NULL: not known, and *@ret_at is -1. */
static struct queue *find_place(const struct life *qp, const struct life *cq, const struct wc *wc,
				int64_t *ret_at)
{
	bool success = wc->status == ABI_WC_SUCCESS, receive = wc->opcode & ABI_WC_RECV;
	struct queue *queue = NULL;

	*ret_at = -1;
	if (qp && qp->sq && !(success && receive)) {
		queue = qp->sq;
		*ret_at = queue_find(queue, wc->request, wc->request_index);
	}
	if (*ret_at < 0 && qp && qp->rq && !(success && !receive)) {
		queue = qp->rq;
		*ret_at = queue_find(queue, wc->request, wc->request_index);
	}
	for (struct queue *pool = cq && cq->cq ? cq->cq->pools : NULL; *ret_at < 0 && pool;
	     pool = pool->pooled) {
		queue = pool;
		*ret_at = queue_find(queue, wc->request, wc->request_index);
	}
	return *ret_at < 0 ? NULL : queue;
}

static void doubt_queue(struct queue *queue, enum queue_doubt doubt)
{
	if (!queue)
		return;
	queue->doubt |= doubt;
	if (queue->cq)
		queue->cq->doubt |= doubt;
}

/* A completion whose request is not known leaves both queues uncertain that it may be of. */
static struct queue *stray_queue(const struct life *qp, const struct wc *wc)
{
	bool success = wc->status == ABI_WC_SUCCESS, receive = wc->opcode & ABI_WC_RECV;

	if (!qp)
		return NULL;
	if (!success || !receive)
		doubt_queue(qp->sq, QUEUE_STRAY);
	if (!success || receive)
		doubt_queue(qp->rq, QUEUE_STRAY);
	return !success ? NULL : receive ? qp->rq : qp->sq;
}

static void take_completion(struct model *model, const struct trace_event *event, uint32_t i,
			    const struct life *cq)
{
	const struct wc *wc = &event->poll->wc[i];
	struct model_complete told = { .event = event, .index = i, .cq = cq };
	struct life *qp = find_qp(model, wc->qp);
	struct queue *queue = NULL;
	int64_t at = -1;

	if (qp && qp->process != event->process)
		qp = NULL;
	if (wc->request.thread)
		queue = find_place(qp, cq, wc, &at);
	if (wc->candidates > 1 && qp) {
		doubt_queue(qp->sq, QUEUE_GUESSED);
		doubt_queue(qp->rq, QUEUE_GUESSED);
	}
	told.qp = qp;
	told.queue = at < 0 ? stray_queue(qp, wc) : queue;
	told.request = at < 0 ? NULL : queue_at(queue, (uint32_t)at);
	if (model->wakes)
		wake_complete(model, event, wc, qp, told.request);
	if (model->watcher.complete)
		model->watcher.complete(model->watcher.arg, &told);
	if (at < 0)
		return;
	note_thread(&queue->poller, event->id.thread);
	queue->completed++;
	queue_retire(queue, (uint32_t)at);
}

static void count_poll(struct queue_cq *cq, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct queue_cq_stats *stats = &cq->stats;
	bool single = poll->nwc == 1;

	stats->polls++;
	stats->wcs += poll->nwc;
	stats->empty += poll->empty;
	stats->chased += single && stats->last_single && !poll->empty &&
			 event->id.thread == stats->last_thread && event->id.n == stats->last_n + 1;
	stats->bursts += poll->nwc >= QUEUE_BURST;
	if (poll->nwc > stats->most)
		stats->most = poll->nwc;
	stats->last_single = single;
	stats->last_thread = event->id.thread;
	stats->last_n = event->id.n;
}

void queues_poll(struct model *model, const struct trace_event *event, struct life *cq)
{
	if (cq && cq->inherited)
		cq = NULL;
	if (cq && cq->cq && event->poll->nwc)
		count_poll(cq->cq, event);
	for (uint32_t i = 0; i < event->poll->nwc; i++)
		take_completion(model, event, i, cq);
}
