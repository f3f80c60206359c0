/*
 * The effects of data verbs on the queues
 *
 * 	post		requests are outstanding
 * 	completion	one is retired, as matched by the trace (core/store/read/match.h)
 *
 * A post has the time at which it began, a poll the time at which it ended: so a completion never
 * comes before its request. But requests that another thread posted meanwhile seem to be older than
 * the poll: if several threads use a queue, which `poster' and `poller' show, numbers are not
 * exact.
 *
 * Not here: the rings (queue.c), the creation and end of a queue (queues_life.c).
 */
#include "analyzer/model/queues.h"

#include <errno.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/addend.h"
#include "analyzer/model/credit.h"
#include "analyzer/model/crossing.h"
#include "analyzer/model/datagram.h"
#include "analyzer/model/dry.h"
#include "analyzer/model/empty.h"
#include "analyzer/model/grh.h"
#include "analyzer/model/steady.h"
#include "analyzer/model/receive_level.h"
#include "analyzer/model/lost_buffers.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/overlap.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue_priv.h"
#include "analyzer/model/serial.h"
#include "analyzer/model/read_release.h"
#include "analyzer/model/slots.h"
#include "analyzer/model/stride.h"
#include "analyzer/model/no_response.h"
#include "analyzer/model/starved.h"
#include "analyzer/model/overflow.h"
#include "analyzer/model/swapped.h"
#include "analyzer/model/same_wr_id.h"
#include "analyzer/model/unordered.h"
#include "analyzer/model/unreceived.h"
#include "analyzer/model/cq_event.h"
#include "analyzer/model/window.h"
#include "core/base/span.h"
#include "core/wire/log.h"

enum {
	MANY = -1,
	UNKNOWN_MAX = 1 << 16, /* requests of a queue whose size is not known */
};

/* Posts */

static void note_thread(uint32_t *known, uint32_t thread)
{
	if (*known != thread)
		*known = *known ? (uint32_t)MANY : thread;
}

/* A device grants at most twice the requested size: if there are more, completions were missed. */
static void limit_ring(const struct model *model, struct queue *queue)
{
	uint32_t most = queue->limits.given > queue->limits.asked ? queue->limits.given
								  : queue->limits.asked;
	uint64_t max = most ? (uint64_t)most * 2 : UNKNOWN_MAX;

	if (queue->outstanding < max)
		return;
	queue->doubt |= QUEUE_LOST;
	for (uint32_t i = 0; i < queue->count; i++)
		if (!queue_at(queue, i)->done) {
			queue_notify_forget(model, queue, i, false);
			queue_retire(queue, i);
			return;
		}
}

/* A READ or an atomic is about to be outstanding. */
static void count_read(struct queue *queue)
{
	const struct qp *qp = queue->owner ? queue->owner->qp : NULL;
	struct queue_stats *stats = &queue->stats;

	stats->reads++;
	stats->reads_waiting +=
		qp && qp->set & ABI_QP_MAX_QP_RD_ATOMIC && queue->reads >= qp->max_rd_atomic;
}

/* Programs may give all requests of one kind, an opcode and a length, the same wr_id. */
static uint64_t kind_of(const struct wr *wr)
{
	return (uint64_t)wr->opcode << 32 | (wr->nsge ? wr->sge[0].length : 0);
}

/* Report the last request of the queue if another outstanding one has its wr_id. */
static void note_wr_id(struct model *model, struct queue *queue, const struct wr *wr)
{
	enum wr_id_found found = wr_id_set_add(&queue->wr_ids, wr->wr_id, kind_of(wr), queue->high);

	if (found == WR_ID_TWICE && !same_wr_id_is_message(queue))
		overflow_report_duplicate(&model->watcher, queue, false);
	else if (found == WR_ID_ONCE)
		same_wr_id_note(queue);
}

/* Report the last request of the queue if another outstanding one fills the same buffer. */
static void note_buffer(struct model *model, struct queue *queue, const struct wr *wr)
{
	if (wr_id_set_add(&queue->buffers, wr->sge[0].addr, kind_of(wr), queue->high) ==
	    WR_ID_TWICE)
		overflow_report_duplicate(&model->watcher, queue, true);
}

static bool invalidates_key(const struct wr *wr)
{
	return wr->opcode == ABI_WR_SEND_WITH_INV || wr->opcode == ABI_WR_LOCAL_INV;
}

/* Check @request, which was just added. */
static void check_pushed(struct model *model, struct queue *queue,
			 const struct queue_request *request, const struct wr *wr)
{
	overlap_check_request(model, queue);
	crossing_check_request(model, queue);
	if (queue->send) {
		stride_check_request(model, queue);
		empty_check_request(model, queue);
	}
	if (queue->datagrams)
		grh_note_receive(model, queue);
	if (model->lost && !queue->send && wr->nsge && queue->owner)
		lost_buffers_note_post(model, queue, &wr->sge[0]);
	if (!queue->wr_ids.off && request->signalled)
		note_wr_id(model, queue, wr);
	if (!queue->buffers.off && queue_fills(request) && !queue->draining)
		note_buffer(model, queue, wr);
}

static int push_wr(struct model *model, struct queue *queue, const struct trace_event *event,
		   const struct wr *wr, uint32_t i, uint32_t stack)
{
	bool message = !queue->send || queue_takes_receive(wr->opcode);
	struct queue_request *request;

	limit_ring(model, queue);
	request = queue_reserve(queue, wr->nsge);
	if (!request)
		return -ENOMEM;
	*request = (struct queue_request){
		.wr_id = wr->wr_id,
		.n = event->id.n,
		.time = event->time,
		.remote_addr = wr->remote_addr,
		.ah = wr->ah,
		.thread = event->id.thread,
		.index = i,
		.stack = stack,
		.rkey = invalidates_key(wr) ? wr->imm : wr->rkey,
		.remote_qpn = wr->remote_qpn,
		.srqn = wr->remote_srqn,
		.message = message ? ++queue->messages : 0,
		.nsge = (uint16_t)wr->nsge,
		.opcode = (int16_t)wr->opcode,
		.flags = (uint16_t)wr->send_flags,
		.signalled = !queue->send || queue->all_signalled ||
			     (wr->send_flags & ABI_SEND_SIGNALED),
	};
	queue->run = request->signalled ? 0 : queue->run + 1;
	queue->posted++;
	queue->stats.signalled += request->signalled;
	if (queue->send) {
		queue->to_receives += message;
		queue->writes += wr->opcode == ABI_WR_RDMA_WRITE;
		if (queue_reads(wr->opcode))
			count_read(queue);
	}
	if (model->watcher.states_only)
		queue->wr_ids.off = queue->buffers.off = true;
	queue_push(queue, &model->busy, wr->sge);
	if (!model->watcher.states_only)
		check_pushed(model, queue, request, wr);
	return 0;
}

/* Only messages that go out can be inline. */
static void count_small(struct queue *queue, const struct wr *wr, uint64_t bytes)
{
	if (bytes > queue->limits.inline_given ||
	    !(wr->opcode == ABI_WR_RDMA_WRITE || queue_takes_receive(wr->opcode)))
		return;
	queue->stats.small++;
	queue->stats.small_inline += (wr->send_flags & ABI_SEND_INLINE) != 0;
}

static void count_sizes(struct queue *queue, const struct post *post, uint32_t taken)
{
	for (uint32_t i = 0; i < taken; i++) {
		uint64_t bytes = wr_bytes(&post->wr[i]);

		queue->stats.bytes += bytes;
		if (queue->send && queue->limits.inline_given)
			count_small(queue, &post->wr[i], bytes);
	}
}

static void end_singles_run(struct queue_singles *singles, int64_t time)
{
	int64_t whole = span_limit(time - singles->since);

	if (singles->run_ns < whole / 100 * QUEUE_COSTLY)
		return;
	singles->costly += singles->run;
	singles->costly_ns = span_limit(singles->costly_ns + singles->run_ns);
	singles->whole_ns = span_limit(singles->whole_ns + whole);
}

/* Count a single request, at @time; @ns since the request before if it is chased, else -1. */
static void count_single(struct queue_singles *singles, int64_t time, int64_t ns)
{
	bool first = !singles->all++;

	if (first)
		singles->since = time;
	if (ns >= 0) {
		singles->chased++;
		singles->run++;
		singles->run_ns = span_limit(singles->run_ns + ns);
		return;
	}
	if (!first)
		end_singles_run(singles, time);
	singles->run = 0;
	singles->run_ns = 0;
	singles->since = time;
}

static void count_post(struct queue *queue, const struct trace_event *event, uint32_t taken)
{
	struct queue_stats *stats = &queue->stats;
	int64_t ns = event->time - stats->last_time;
	bool chased = event->post->nwr == 1 && event->id.n == stats->last_n + 1 &&
		      event->id.thread == stats->last_thread && ns < QUEUE_CHASED;

	if (!stats->posts++)
		stats->first_time = event->time;
	stats->chased += chased;
	stats->turns += event->id.thread != stats->turn;
	stats->turn = event->id.thread;
	if (queue->completed)
		count_single(&stats->steady, event->time, chased ? ns : -1);
	stats->last_n = event->post->nwr == 1 ? event->id.n : 0;
	stats->last_thread = event->id.thread;
	stats->last_time = event->time;
	stats->last_number = event->id.n;
	stats->last_verb = event->post->verb;
	stats->last_stack = event->post->stack;
	count_sizes(queue, event->post, taken);
}

static void notify_post(struct model *model, const struct trace_event *event,
			const struct life *object, const struct queue *queue, uint32_t taken)
{
	struct model_post told = {
		.event = event, .object = object, .queue = queue, .taken = taken
	};

	if (model->watcher.post)
		model->watcher.post(model->watcher.arg, &told);
}

static void note_sends(struct model *model, const struct trace_event *event, struct queue *queue,
		       uint32_t taken)
{
	credit_note_send(model, event, queue);
	slots_note_post(queue, event, taken);
	if (!model->reads)
		return;
	addend_note_post(queue, event, taken);
	swapped_note_post(model, event, queue, taken);
	read_release_note_post(queue, taken);
}

static void note_send(struct model *model, struct queue *queue, const struct trace_event *event)
{
	const struct post *post = event->post;

	serial_note_post(model, queue, event);
	if (queue->unordered && post->wr[post->nwr - 1].opcode == ABI_WR_RDMA_WRITE)
		unordered_note_flag(model, queue, event);
}

/* Pass a post to the functions that judge it for the rules. 0 or -ENOMEM. */
static int run_post_checks(struct model *model, const struct trace_event *event,
			   struct life *object, struct queue *queue, uint32_t taken)
{
	bool send = post_is_send(event->post);

	if (steady_begin_post(model, event->process) < 0)
		return -ENOMEM;
	if (queue && taken)
		count_post(queue, event, taken);
	if (queue && send && taken)
		note_send(model, queue, event);
	if (queue && send && taken && queue->owner->kind == OBJECT_qp)
		note_sends(model, event, queue, taken);
	if (queue && taken && !send) {
		receive_level_note_posts(queue);
		credit_note_refill(queue, event);
	}
	if (queue && !send)
		starved_note_post(model, event, object, queue, taken);
	if (queue && !send)
		dry_note_post(model, event, object, queue, taken);
	if (queue && !send && object->lacking)
		unreceived_note_post(object, event, taken);
	if (queue && send && queue->datagrams)
		datagram_check_post(model, event, queue, taken);
	steady_note_post(model, event);
	return 0;
}

int queues_process_post(struct model *model, const struct trace_event *event, struct life *object)
{
	const struct post *post = event->post;
	bool send = post_is_send(post);
	uint32_t taken = post_taken(post);
	struct queue *queue = NULL;

	if (object && !object->inherited)
		queue = send ? object->sq : object->rq;
	if (queue && queue->owner != object)
		queue = NULL; /* it is a receive, and the queue pair uses an SRQ */
	if (queue)
		note_thread(&queue->poster, event->id.thread);
	for (uint32_t i = 0; queue && i < taken; i++)
		if (push_wr(model, queue, event, &post->wr[i], i, post->stack))
			return log_err(-ENOMEM, "outstanding requests");
	if (model->watcher.states_only && model->watcher.starved && queue && !send)
		starved_note_post(model, event, object, queue, taken);
	if (!model->watcher.states_only && run_post_checks(model, event, object, queue, taken))
		return log_err(-ENOMEM, "posts of a process");
	notify_post(model, event, object, queue, taken);
	if (queue && !model->watcher.states_only &&
	    overflow_note_post(&model->watcher, event, queue, taken))
		return log_err(-ENOMEM, "refused posts");
	return 0;
}

int queues_process_bind(struct model *model, struct life *qp, const struct trace_event *event)
{
	const struct args *in = event->call->args;
	struct wr wr = { .opcode = ABI_WR_BIND_MW };
	int64_t wr_id = 0, flags = 0;

	if (!qp || !qp->sq || !in)
		return 0;
	args_get(in, ARG(mw_bind.wr_id), &wr_id);
	args_get(in, ARG(mw_bind.send_flags), &flags);
	wr.wr_id = (uint64_t)wr_id;
	wr.send_flags = (uint32_t)flags;
	if (push_wr(model, qp->sq, event, &wr, 0, event->call->stack))
		return -ENOMEM;
	if (model->watcher.bind)
		model->watcher.bind(model->watcher.arg, qp->sq);
	return 0;
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

/*
 * The queue in which the request of @wc is outstanding, and its position there. NULL: not known,
 * and *@ret_at is -1.
 */
static struct queue *find_queue_of_wc(const struct life *qp, const struct life *cq,
				      const struct wc *wc, int64_t *ret_at)
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

static void mark_queue_doubt(struct queue *queue, enum queue_doubt doubt)
{
	if (!queue)
		return;
	queue->doubt |= doubt;
	if (queue->cq)
		queue->cq->doubt |= doubt;
}

/* A completion of an unknown request makes both queues that it may belong to uncertain. */
static struct queue *doubt_stray(const struct life *qp, const struct wc *wc)
{
	bool success = wc->status == ABI_WC_SUCCESS, receive = wc->opcode & ABI_WC_RECV;

	if (!qp)
		return NULL;
	if (!success || !receive)
		mark_queue_doubt(qp->sq, QUEUE_STRAY);
	if (!success || receive)
		mark_queue_doubt(qp->rq, QUEUE_STRAY);
	return !success ? NULL : receive ? qp->rq : qp->sq;
}

/* Pass a completion to the functions that judge it for the rules. */
static void run_completion_checks(struct model *model, const struct model_complete *complete,
				  const struct wc *wc)
{
	const struct queue_request *request = complete->request;
	const struct trace_event *event = complete->event;
	struct life *qp = find_qp(model, wc->qp);
	bool received = wc->status == ABI_WC_SUCCESS && wc->opcode & ABI_WC_RECV;

	if (received)
		steady_note_receive(model, event->process);
	if (wc->status != ABI_WC_SUCCESS && request &&
	    (request->opcode == ABI_WR_LOCAL_INV || request->opcode == ABI_WR_SEND_WITH_INV))
		window_restore(model, event, request);
	if (received && complete->qp && wc->wc_flags & ABI_WC_WITH_INV)
		window_note_remote_invalidation(model, event, qp, wc);
	cq_event_note_completion(model, event, wc, complete->qp ? qp : NULL, request);
}

/* Pass a request that is about to be retired to the functions that judge it for the rules. */
static void run_request_checks(struct model *model, const struct model_complete *complete,
			       uint32_t at, struct queue *queue)
{
	const struct trace_event *event = complete->event;
	bool success = !event->poll->wc[complete->index].status;

	if (queue->send)
		dry_note_completion(model, complete);
	if (queue->datagrams && !queue->send && success)
		grh_note_completion(queue, at);
	if (queue->unreliable && success)
		unreceived_note_send(model, event, queue, at);
	if (queue->send) {
		serial_note_completion(model, queue, event);
	} else if (success) {
		receive_level_note_completion(queue, complete->qp, event);
		slots_note_message(complete->qp ? complete->qp->sq : NULL,
				   &event->poll->wc[complete->index]);
		if (model->reads && complete->qp)
			read_release_note_message(model, event, complete->qp);
	}
}

static void process_completion(struct model *model, const struct trace_event *event, uint32_t i,
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
		queue = find_queue_of_wc(qp, cq, wc, &at);
	if (wc->candidates > 1 && qp) {
		mark_queue_doubt(qp->sq, QUEUE_GUESSED);
		mark_queue_doubt(qp->rq, QUEUE_GUESSED);
	}
	told.qp = qp;
	told.queue = at < 0 ? doubt_stray(qp, wc) : queue;
	told.request = at < 0 ? NULL : queue_at(queue, (uint32_t)at);
	if (!model->watcher.states_only)
		run_completion_checks(model, &told, wc);
	if (model->watcher.complete)
		model->watcher.complete(model->watcher.arg, &told);
	if (at < 0)
		return;
	note_thread(&queue->poller, event->id.thread);
	if (!model->watcher.states_only)
		run_request_checks(model, &told, (uint32_t)at, queue);
	queue->completed++;
	queue->polled = event->time;
	queue_retire(queue, (uint32_t)at);
}

/*
 * How long the thread of @event neither posted nor polled before it, divided by its polls; 0: not
 * known, or less than QUEUE_LATE.
 */
static int64_t idle_ns(const struct model *model, const struct queue_cq_stats *stats,
		       const struct trace_event *event)
{
	const struct steady *steady = steady_of(model, event->process);
	int64_t since = stats->last_time;

	if (event->poll->empty > QUEUE_LATE || event->time - since < QUEUE_LATE)
		return 0;
	if (steady && steady->thread == event->id.thread && steady->until > since)
		since = steady->until;
	return (event->time - since) / (int64_t)(event->poll->empty + 1);
}

/* Only receives count: a program may poll a send late because it has other work meanwhile. */
static void count_sleep(struct queue_cq_stats *stats, const struct poll *poll, int64_t ns)
{
	stats->asleep = false;
	for (uint32_t i = 0; i < poll->nwc && !stats->asleep; i++)
		stats->asleep = !poll->wc[i].status && poll->wc[i].opcode & ABI_WC_RECV;
	if (!stats->asleep)
		return;
	stats->slept++;
	stats->slept_ns = span_limit(stats->slept_ns + ns);
}

/*
 * Count completions that a thread polls after it has not polled for some time. A thread that an
 * event wakes is not late: it polls when the first completion arrives.
 */
static void count_late(const struct model *model, struct queue_cq_stats *stats,
		       const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	bool same = stats->polls && event->id.thread == stats->last_thread;
	int64_t ns =
		same && stats->events == stats->batch_events ? idle_ns(model, stats, event) : 0;
	uint64_t before;

	if (ns >= QUEUE_LATE) {
		stats->batch = 0;
		stats->batch_ns = ns;
		count_sleep(stats, poll, ns);
	} else if (!same || !stats->batch || poll->empty) {
		stats->batch_ns = 0;
	}
	if (stats->batch_ns && stats->asleep)
		stats->slept_wcs += poll->nwc;
	before = stats->batch;
	stats->batch_events = stats->events;
	stats->batch = stats->batch_ns ? before + poll->nwc : 0;
	if (stats->batch < QUEUE_BATCH)
		return;
	stats->late_wcs += before < QUEUE_BATCH ? stats->batch : poll->nwc;
	if (before >= QUEUE_BATCH)
		return;
	stats->late++;
	stats->late_ns = span_limit(stats->late_ns + stats->batch_ns);
}

static void count_poll(const struct model *model, struct queue_cq *cq,
		       const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct queue_cq_stats *stats = &cq->stats;
	bool single = poll->nwc == 1;
	bool chased = single && stats->last_single && !poll->empty &&
		      event->id.thread == stats->last_thread && event->id.n == stats->last_n + 1;

	if (!stats->polls)
		stats->first_time = event->time;
	count_late(model, stats, event);
	stats->polls++;
	stats->wcs += poll->nwc;
	stats->empty += poll->empty;
	stats->chased += chased;
	count_single(&stats->steady, event->time, chased ? event->time - stats->last_time : -1);
	stats->bursts += poll->nwc >= QUEUE_BURST;
	if (poll->nwc > stats->most)
		stats->most = poll->nwc;
	stats->last_single = single;
	stats->switches += event->id.thread != stats->last_thread;
	stats->last_thread = event->id.thread;
	stats->last_n = event->id.n;
	stats->last_time = event->time;
}

void queues_process_poll(struct model *model, const struct trace_event *event, struct life *cq)
{
	if (cq && cq->inherited)
		cq = NULL;
	if (cq && cq->cq && event->poll->nwc && !model->watcher.states_only)
		count_poll(model, cq->cq, event);
	for (uint32_t i = 0; i < event->poll->nwc; i++)
		process_completion(model, event, i, cq);
	if (!model->watcher.states_only)
		no_response_note_poll(model, event, cq);
}
