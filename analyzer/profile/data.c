/*
 * Posts and polls, as a profile counts them
 *
 * 	post		a doorbell of a queue, with requests by opcode and size
 * 	poll		completions, and the empty polls before it
 * 	completion	the latency of its request
 *
 * The model knows which requests are outstanding, and to which one a completion belongs.
 */
#include "analyzer/profile/data.h"

#include <stdlib.h>

#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/starved.h"
#include "analyzer/profile/calls.h"
#include "analyzer/profile/depth.h"
#include "analyzer/profile/rows.h"
#include "analyzer/profile/place_table.h"

/* One bit for each opcode of enum ibv_wr_opcode */
#define BIT(name) (1u << ABI_WR_##name)

static bool carries_bytes(unsigned int opcode)
{
	const unsigned int those = BIT(SEND) | BIT(SEND_WITH_IMM) | BIT(SEND_WITH_INV) |
				   BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM) | BIT(ATOMIC_WRITE) |
				   BIT(TSO);

	return opcode < PROFILE_OTHER && those >> opcode & 1;
}

static unsigned int opcode_index(int opcode)
{
	return opcode < 0               ? PROFILE_RECEIVE
	       : opcode < PROFILE_OTHER ? (unsigned int)opcode
					: PROFILE_OTHER;
}

static struct profile_requests *find_requests(struct profiler *p, unsigned int opcode,
					      uint64_t bytes)
{
	struct profile_requests **at = &p->profile->requests[opcode][profile_size_class(bytes)];

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at) {
			profiler_fail(p);
			return NULL;
		}
		(*at)->least = UINT32_MAX;
	}
	return *at;
}

static void note_size(struct profile_requests *row, uint64_t bytes)
{
	uint32_t size = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;

	row->bytes += bytes;
	if (size < row->least)
		row->least = size;
	if (size > row->most)
		row->most = size;
}

/* State of a post while its requests are counted. */
struct counted_post {
	const struct queue *queue; /* NULL: not known */
	struct profile_posts *posts;
	struct profile_queue *row; /* NULL: the trace has no such queue */
	struct profile_side *side; /* of the queue, or NULL */
	struct profile_place *place;
	struct profile_process *process;
	bool judged;
};

static void count_inline(struct counted_post *to, const struct wr *wr, uint64_t bytes)
{
	bool is_inline = wr->send_flags & ABI_SEND_INLINE;
	bool fits = to->judged && to->queue->limits.known &&
		    bytes <= to->queue->limits.inline_given && to->queue->limits.inline_given;

	to->posts->inlined += is_inline;
	to->place->inlined += is_inline;
	to->posts->small += fits;
	to->posts->small_inline += fits && is_inline;
	to->place->small += fits;
	to->place->small_inline += fits && is_inline;
	if (to->side) {
		to->side->small += fits;
		to->side->small_inline += fits && is_inline;
	}
}

static void count_signal(struct counted_post *to, const struct wr *wr)
{
	bool signalled = to->queue->all_signalled || wr->send_flags & ABI_SEND_SIGNALED;

	to->posts->signalled += signalled;
	to->place->signalled += signalled;
	if (!to->side)
		return;
	to->side->signalled += signalled;
	to->side->run++;
	if (!signalled)
		return;
	histogram_add(&to->posts->distance, to->side->run);
	to->side->run = 0;
}

static void count_send(struct profiler *p, struct counted_post *to, const struct wr *wr)
{
	unsigned int opcode = opcode_index(wr->opcode);
	uint64_t bytes = wr_bytes(wr);
	struct profile_requests *row = find_requests(p, opcode, bytes);

	if (row) {
		row->posted++;
		row->inlined += (wr->send_flags & ABI_SEND_INLINE) != 0;
		note_size(row, bytes);
	}
	to->posts->bytes += bytes;
	to->place->bytes += bytes;
	if (to->side)
		to->side->bytes += bytes;
	if (carries_bytes(opcode)) {
		count_inline(to, wr, bytes);
		p->profile->sent += bytes;
		to->process->sent += bytes;
		if (to->row)
			to->row->sent += bytes;
	} else if (operation_reads(opcode)) {
		p->profile->received += bytes;
		to->process->received += bytes;
		if (to->row)
			to->row->received += bytes;
	}
	if (to->judged)
		count_signal(to, wr);
}

/* The time since which all events of @process have been counted. */
static int64_t counted_since(const struct profiler *p, uint32_t process)
{
	int64_t since = process < p->ninside ? p->inside[process].since : 0;

	return since > p->profile->whole_from ? since : p->profile->whole_from;
}

static void count_gap(struct profiler *p, struct counted_post *to, const struct trace_event *event)
{
	int64_t since = counted_since(p, event->process);

	if (to->side->last >= since && to->side->last >= 0) {
		histogram_add(&to->posts->gap, event->time - to->side->last);
		histogram_add(&to->place->gap, event->time - to->side->last);
	}
	to->side->last = event->time;
}

/* Note the maximum of outstanding requests, and the capacity. */
static void note_occupancy(struct profile_side *side, const struct queue *queue)
{
	if (queue->outstanding > side->high)
		side->high = queue->outstanding;
	side->capacity = queue->limits.given;
	side->asked = queue->limits.asked;
	side->doubt |= queue->doubt;
	side->known = true;
}

static void note_cq_high(struct profiler *p, const struct queue_cq *from)
{
	struct profile_cq *cq = from && from->owner && from->owner->id
					? rows_get_cq(p, from->owner->id, from->owner->process)
					: NULL;

	if (!cq)
		return;
	if (from->signalled > cq->high)
		cq->high = from->signalled;
	cq->capacity = from->given;
	cq->asked = from->asked;
	cq->doubt |= from->doubt;
	cq->known = true;
}

static void note_queue(struct profiler *p, struct profile_side *side, const struct queue *queue)
{
	if (!queue)
		return;
	if (side)
		note_occupancy(side, queue);
	note_cq_high(p, queue->cq);
}

static struct profile_side *find_side(struct profiler *p, uint32_t object, uint32_t process,
				      bool send)
{
	struct profile_queue *queue = rows_queue(p, object, process);

	return !queue ? NULL : send ? &queue->send : &queue->receive;
}

static void count_accepted(struct profiler *p, struct counted_post *to,
			   const struct trace_event *event, uint32_t taken)
{
	const struct post *post = event->post;
	bool send = post_is_send(post);

	to->posts->posts++;
	to->posts->requests += taken;
	to->posts->judged += to->judged ? taken : 0;
	to->place->posts++;
	to->place->requests += taken;
	if (taken > to->place->longest)
		to->place->longest = taken;
	to->place->judged += to->judged ? taken : 0;
	to->process->requests += taken;
	histogram_add(&to->posts->list, taken);
	if (to->side) {
		to->side->posts++;
		to->side->requests += taken;
		to->side->judged += to->judged ? taken : 0;
		count_gap(p, to, event);
	}
	for (uint32_t i = 0; i < taken && send; i++)
		count_send(p, to, &post->wr[i]);
	for (uint32_t i = 0; i < taken && !send; i++)
		to->posts->bytes += wr_bytes(&post->wr[i]);
	if (send && p->profile->first_post < 0)
		p->profile->first_post = event->time;
}

static bool find_posting(struct profiler *p, const struct model_post *told, struct counted_post *to)
{
	const struct trace_event *event = told->event;
	bool send = post_is_send(event->post);
	size_t place = place_index(p, event->post->verb, event->post->stack, event->process);

	*to = (struct counted_post){ .queue = told->queue,
				     .posts = send ? &p->profile->send : &p->profile->receive,
				     .process = rows_process(p, event->process) };
	if (place == SIZE_MAX || !to->process)
		return false;
	to->place = &p->profile->places[place];
	to->row = rows_queue(p, event->post->object, event->process);
	to->side = !to->row ? NULL : send ? &to->row->send : &to->row->receive;
	to->judged = to->queue && !(to->queue->doubt & QUEUE_OLDER);
	return true;
}

void data_count_post(struct profiler *p, const struct model_post *told)
{
	const struct trace_event *event = told->event;
	struct worker *worker = rows_get_worker(p, event->id.thread);
	struct profile_thread *thread;
	struct counted_post to;

	if (worker && told->taken && post_is_send(event->post))
		calls_note_post(p, worker);
	if (!p->counts || !find_posting(p, told, &to))
		return;
	thread = rows_get_thread(p, event->id.thread, event->process);
	if (!thread)
		return;
	p->profile->verbs[event->post->verb].calls += p->profile->one_of;
	p->profile->verbs[event->post->verb].errors += event->post->ret ? p->profile->one_of : 0;
	to.place->calls++;
	to.process->posts++;
	thread->posts++;
	thread->requests += told->taken;
	if (event->post->ret) {
		to.place->errors++;
		to.posts->refused++;
		if (to.side)
			to.side->refused++;
	}
	if (told->taken)
		count_accepted(p, &to, event, told->taken);
	note_queue(p, to.side, told->queue);
	if (to.side && told->queue)
		depth_count_post(to.side, told, counted_since(p, event->process));
	if (to.row && told->queue && !told->queue->send)
		depth_count_starved(&to.row->starved, told);
	if (to.row && told->queue && told->queue->send)
		to.row->max_inline = told->queue->limits.inline_given;
}

void data_note_modify(struct profiler *p, const struct model_modify *told)
{
	uint32_t id = told->object ? told->object->id : 0;
	struct profile_queue *queue = id < p->profile->nobjects ? p->profile->queues[id] : NULL;

	if (!queue || told->to != ABI_QPS_RESET)
		return;
	depth_reset(&queue->send);
	depth_reset(&queue->receive);
}

/* Completions */

static uint64_t request_bytes(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return bytes;
}

static void time_request(struct profiler *p, const struct model_complete *told, int64_t took)
{
	struct profile_requests *row;

	if (!told->request) {
		p->profile->unmatched++;
		return;
	}
	row = find_requests(p, opcode_index(told->request->opcode),
			    request_bytes(told->queue, told->request));
	if (!row)
		return;
	row->completed++;
	histogram_add(&row->latency, took);
}

static void add_time(struct profiler *p, struct histogram **histogram, int64_t took)
{
	if (!*histogram && !(*histogram = calloc(1, sizeof(**histogram))))
		profiler_fail(p);
	else
		histogram_add(*histogram, took);
}

/* The request may have waited for its peer's RNR timer. */
static void time_stall(struct profiler *p, struct profile_queue *queue,
		       const struct model_complete *told, int64_t took)
{
	const struct peer *other =
		told->qp ? peer_find_other(model_peers(p->model), told->qp->peer) : NULL;
	const struct qp *qp = other && other->life ? other->life->qp : NULL;
	unsigned int code = qp ? qp->min_rnr_timer & 31 : 0;

	if (!qp || !(qp->set & ABI_QP_MIN_RNR_TIMER) ||
	    !starved_explains(told->request, qp_rnr_time(code), told->event->time))
		return;
	add_time(p, &p->profile->stalled[code], took);
	/*
	 * a request that was posted during a stall waited for the same receive, or behind the
	 * stalled request
	 */
	if (told->request->time >= p->profile->stalled_until[code]) {
		p->profile->stalled_until[code] = told->event->time;
		add_time(p, &p->profile->stalls[code], took);
	}
	if (!queue)
		return;
	add_time(p, &queue->stalled, took);
	queue->stalled_by |= 1u << code;
}

static void count_sent(struct profiler *p, struct profile_queue *queue,
		       const struct model_complete *told)
{
	const struct trace_event *event = told->event;
	const struct wc *wc = &event->poll->wc[told->index];
	int64_t took = event->time - wc->posted_at;

	if (queue)
		queue->send.completions++;
	if (!wc->request.thread) {
		p->profile->unmatched++;
		return;
	}
	time_request(p, told, took);
	if (told->request && told->request->starved)
		time_stall(p, queue, told, took);
	if (queue)
		add_time(p, &queue->latency, took);
}

static void count_received(struct profiler *p, struct profile_queue *queue, const struct wc *wc,
			   struct profile_process *process, bool lengthless)
{
	struct profile_requests *row =
		lengthless ? NULL : find_requests(p, PROFILE_RECEIVE, wc->byte_len);

	p->profile->lengthless += lengthless;
	if (row) {
		row->completed++;
		note_size(row, wc->byte_len);
	}
	if (queue)
		queue->receive.completions++;
	if (lengthless)
		return;
	if (queue) {
		queue->receive.bytes += wc->byte_len;
		queue->received += wc->byte_len;
	}
	p->profile->received += wc->byte_len;
	process->received += wc->byte_len;
}

static bool is_lengthless(const struct profiler *p, const struct model_complete *told)
{
	uint32_t cq = told->cq ? told->cq->id : 0;

	return told->event->poll->verb != VERB_poll_cq && cq < p->profile->nobjects &&
	       p->profile->cqs[cq] && p->profile->cqs[cq]->lengthless;
}

/*
 * Note the depth up to now, before the completion changes it; its queue may be an SRQ's.
 */
static void note_depth_before(struct profiler *p, const struct model_complete *told)
{
	const struct queue *queue = told->queue;
	uint32_t id = queue && queue->owner ? queue->owner->id : 0;
	struct profile_side *side = find_side(p, id, told->event->process, queue && queue->send);

	note_queue(p, side, queue);
	if (side && queue)
		depth_count_completion(side, told, counted_since(p, told->event->process));
	if (queue && !queue->cq && !queue->send && told->cq && told->cq->id) {
		struct profile_cq *cq = rows_get_cq(p, told->cq->id, told->event->process);

		if (cq)
			cq->shared = true;
	}
}

void data_count_completion(struct profiler *p, const struct model_complete *told)
{
	const struct wc *wc = &told->event->poll->wc[told->index];
	struct profile_queue *queue = rows_queue(p, wc->qp, told->event->process);
	struct profile_process *process = rows_process(p, told->event->process);

	if (!p->counts || !process)
		return;
	note_depth_before(p, told);
	p->profile->completions++;
	process->completions++;
	p->profile->last_completion = told->event->time;
	if (wc->status != ABI_WC_SUCCESS) {
		p->profile->errors++;
		p->profile->flushed += wc->status == ABI_WC_WR_FLUSH_ERR;
		process->errors++;
		if (queue)
			queue->errors++;
	} else if (wc->opcode & ABI_WC_RECV) {
		count_received(p, queue, wc, process, is_lengthless(p, told));
	} else {
		count_sent(p, queue, told);
	}
}

/* Polls */

/* A batch of an extended CQ is one poll, which ends when the next begins. */
static void end_batch(struct profiler *p, struct worker *worker)
{
	if (worker->batch)
		histogram_add(&p->profile->poll, worker->batch);
	worker->batch = 0;
}

static void count_batch(struct profiler *p, struct worker *worker, const struct poll *poll)
{
	if (poll->verb == VERB_next_poll && worker->batch) {
		worker->batch += poll->nwc;
		return;
	}
	end_batch(p, worker);
	if (poll->verb == VERB_poll_cq)
		histogram_add(&p->profile->poll, poll->nwc);
	else
		worker->batch = poll->nwc;
	p->profile->polls++;
}

/*
 * Empty polls have no time: only the mean of the gaps since the last poll is known, a lower bound
 * of the longest gap.
 */
static void count_poll_gap(struct profile_cq *cq, const struct trace_event *event, int64_t since)
{
	if (event->poll->verb == VERB_next_poll)
		return;
	if (cq->poller && cq->poller != event->id.thread)
		cq->poller = UINT32_MAX;
	else
		cq->poller = event->id.thread;
	if (cq->poller != UINT32_MAX && cq->last && cq->last >= since)
		histogram_add(&cq->gap,
			      (event->time - cq->last) / (int64_t)(event->poll->empty + 1));
	cq->last = event->time;
}

static void count_cq(struct profiler *p, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct profile_cq *cq = rows_get_cq(p, poll->object, event->process);

	if (!cq)
		return;
	count_poll_gap(cq, event, counted_since(p, event->process));
	cq->empty += poll->empty;
	cq->batches |= poll->verb != VERB_poll_cq;
	cq->completions += poll->nwc;
	cq->polls += poll->nwc && poll->verb != VERB_next_poll;
	if (poll->nwc > cq->most)
		cq->most = poll->nwc;
}

void data_count_poll(struct profiler *p, const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct profile_thread *thread = rows_get_thread(p, event->id.thread, event->process);
	struct profile_process *process = rows_process(p, event->process);
	struct worker *worker = rows_get_worker(p, event->id.thread);
	enum verb begins = poll->verb == VERB_next_poll ? VERB_start_poll : poll->verb;

	if (!thread || !process || !worker)
		return;
	p->profile->verbs[poll->verb].calls += poll->ret < 0 ? 1 : p->profile->one_of;
	p->profile->verbs[poll->verb].errors += poll->ret < 0;
	p->profile->verbs[begins].calls += poll->empty; /* the end of a batch does not count */
	p->profile->failed_polls += poll->ret < 0;
	p->profile->empty += poll->empty;
	process->empty += poll->empty;
	thread->empty += poll->empty;
	process->polls++;
	thread->polls++;
	thread->completions += poll->nwc;
	if (poll->nwc)
		count_batch(p, worker, poll);
	count_cq(p, event);
}

/* The program may sleep until an event of the CQ. */
void data_count_notify(struct profiler *p, const struct trace_event *event)
{
	struct profile_cq *cq = rows_get_cq(p, event->notify->object, event->process);

	if (cq)
		cq->last = 0;
	p->profile->verbs[VERB_req_notify_cq].calls++;
	p->profile->verbs[VERB_req_notify_cq].errors += event->notify->ret != 0;
}

/* Drop the gaps if polls of other threads, or polls that --filter left out, may be missing. */
static void forget_gaps(struct profile *profile)
{
	for (size_t i = 0; i < profile->nobjects; i++)
		if (profile->cqs[i] && (profile->cqs[i]->poller == UINT32_MAX || profile->filtered))
			histogram_fini(&profile->cqs[i]->gap);
}

void data_finish(struct profiler *p)
{
	forget_gaps(p->profile);
	for (size_t i = 0; i < p->nworkers; i++)
		end_batch(p, &p->workers[i]);
}
