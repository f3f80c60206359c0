/*
 * The loop of a worker
 *
 *	senders by due time (a heap) -> due: post, even if earlier requests are not complete
 *	                             -> none is due yet: poll, post receives again
 *
 * A sender whose queue is full when its request is due leaves the heap, until a completion frees
 * an entry; others keep their times. Requests due at the same time (the recorded program has posted
 * them as one list) are posted as one list. Even if all are late, the loop polls after every
 * POLL_AFTER posts.
 *
 * Shortly before a request is due the loop only reads the clock: a poll takes longer than the
 * accepted error of the time. If nothing is due for long, it sleeps.
 */
#include "replay/load/load_send.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "core/wire/clock.h"
#include "core/wire/log.h"

enum {
	LIST = 32,
	BATCH = 16,
	POLL_AFTER = 16,
	SPIN_NS = 2000,           /* before a request is due, no poll */
	SLEEP_NS = 50000,         /* length of one sleep */
	AWAKE_NS = 400000,        /* no sleep if the next request is due sooner, */
	BUSY_NS = 200000,         /* or if the latest completion is more recent */
	STRAGGLER_NS = 500000000, /* how long to wait for datagrams, which may be lost */
};

/* The loop's own state. */
struct send_loop {
	struct load_worker *w;
	int64_t go;
	int64_t moved;     /* when the latest request was posted or completed */
	uint64_t left;     /* senders whose requests were not all sent and completed */
	uint64_t expected; /* messages that must arrive; datagrams may be lost */
	uint64_t datagrams;
	bool reported;      /* PHASE_SENT */
	unsigned int posts; /* since the last poll */
};

static int64_t time_now(const struct send_loop *l)
{
	return (int64_t)clock_monotonic() - l->go;
}

static void swap_heap(uint32_t *heap, size_t a, size_t b)
{
	uint32_t swap = heap[a];

	heap[a] = heap[b];
	heap[b] = swap;
}

static bool is_before(const struct load_worker *w, size_t a, size_t b)
{
	return w->senders[w->heap[a]].due < w->senders[w->heap[b]].due;
}

static void sift_up(struct load_worker *w, size_t at)
{
	for (; at && is_before(w, at, (at - 1) / 2); at = (at - 1) / 2)
		swap_heap(w->heap, at, (at - 1) / 2);
}

static void sift_down(struct load_worker *w, size_t at)
{
	for (size_t least;; at = least) {
		size_t left = 2 * at + 1, right = left + 1;

		least = left < w->nheap && is_before(w, left, at) ? left : at;
		if (right < w->nheap && is_before(w, right, least))
			least = right;
		if (least == at)
			return;
		swap_heap(w->heap, at, least);
	}
}

static void push_sender(struct load_worker *w, uint32_t sender)
{
	w->heap[w->nheap] = sender;
	sift_up(w, w->nheap++);
}

static void pop_sender(struct load_worker *w)
{
	w->heap[0] = w->heap[--w->nheap];
	sift_down(w, 0);
}

static const struct load_flow *flow_of(const struct load_worker *w, const struct load_sender *s)
{
	return &w->plan->flows[s->flow];
}

static uint32_t count_free_slots(const struct load_worker *w, const struct load_sender *s)
{
	return w->ends[s->end].depth - (uint32_t)(s->sent - s->completed);
}

/* @s has sent its next request: compute when the following one is due. */
static void advance_sender(const struct load_worker *w, struct load_sender *s)
{
	const struct load_track *track = flow_of(w, s)->track;

	s->at = s->at + 1 < track->n ? s->at + 1 : 0;
	s->exact += (double)track->requests[s->at].gap / w->plan->options->pace;
	s->due = (int64_t)s->exact;
	s->sent++;
}

/* Ask for a completion as often as recorded, and before the queue is full. */
static bool must_signal(const struct load_worker *w, struct load_sender *s)
{
	const struct load_flow *flow = flow_of(w, s);
	uint32_t depth = w->ends[s->end].depth, most = depth / 2 ?: 1;
	uint32_t every = flow->class->signal < most ? flow->class->signal : most;

	if (++s->unsignaled < every && s->sent + 1 < flow->track->count)
		return false;
	s->unsignaled = 0;
	return true;
}

static void fill_request(struct load_worker *w, struct load_sender *s, struct ibv_send_wr *wr,
			 struct ibv_sge *sge)
{
	const struct load_flow *flow = flow_of(w, s);
	const struct load_kind *kind = &w->plan->load->kinds[flow->track->requests[s->at].kind];
	const struct load_notice *to = load_notice(w->plan, flow->link, 1 - flow->side);

	*sge = (struct ibv_sge){ (uint64_t)(uintptr_t)w->memory, kind->bytes, w->mr->lkey };
	*wr = (struct ibv_send_wr){ .sg_list = sge,
				    .num_sge = 1,
				    .opcode = (enum ibv_wr_opcode)kind->opcode };
	wr->send_flags = must_signal(w, s) ? IBV_SEND_SIGNALED : 0;
	/* its completion also completes all earlier requests */
	wr->wr_id = (s->sent + 1) << 25 | (uint64_t)(s - w->senders) << 1;
	if (flow->class->transport == LOAD_UD) {
		wr->wr.ud.ah = w->ends[s->end].ah;
		wr->wr.ud.remote_qpn = to->number;
		wr->wr.ud.remote_qkey = LOAD_QKEY;
	} else if (kind->opcode == ABI_WR_ATOMIC_CMP_AND_SWP ||
		   kind->opcode == ABI_WR_ATOMIC_FETCH_AND_ADD) {
		sge->length = sizeof(uint64_t);
		wr->wr.atomic.remote_addr = to->address;
		wr->wr.atomic.rkey = to->rkey;
	} else {
		wr->wr.rdma.remote_addr = to->address;
		wr->wr.rdma.rkey = to->rkey;
	}
}

static void count_request(struct send_loop *l, const struct load_sender *s, int64_t now, bool full)
{
	const struct load_plan *plan = l->w->plan;
	const struct load_flow *flow = flow_of(l->w, s);
	const struct load_kind *kind = &plan->load->kinds[flow->track->requests[s->at].kind];
	struct load_result *result = &l->w->result;
	int64_t late = now - s->due;

	if (!result->issued++)
		result->first = now;
	result->last = now;
	result->bytes += kind->bytes;
	result->messages += load_is_message(kind->opcode);
	if (!full) {
		if (plan->options->late)
			plan->options->late(plan->options->arg, l->w->index, late);
		return;
	}
	result->full++;
	if (late > result->full_longest) {
		result->full_longest = late;
		result->full_from = flow->edge.from;
		result->full_to = flow->edge.to;
	}
}

/* Post the requests of @s that are due at the same time. Returns their number, or -errno. */
static int post_list(struct send_loop *l, struct load_sender *s, int64_t now)
{
	struct load_worker *w = l->w;
	struct ibv_send_wr wr[LIST], *bad = NULL;
	struct ibv_sge sge[LIST];
	const struct load_track *track = flow_of(w, s)->track;
	uint32_t room = count_free_slots(w, s);
	int64_t due = s->due;
	bool full = s->full;
	int n = 0, err;

	do {
		fill_request(w, s, &wr[n], &sge[n]);
		if (n)
			wr[n - 1].next = &wr[n];
		count_request(l, s, now, full);
		advance_sender(w, s);
		n++;
	} while (n < LIST && (uint32_t)n < room && s->due == due && s->sent < track->count);
	s->full = false;
	err = ibv_post_send(w->ends[s->end].qp, wr, &bad);
	if (err)
		return log_err(-err, "ibv_post_send, of rank %u to rank %u",
			       flow_of(w, s)->edge.from, flow_of(w, s)->edge.to);
	return n;
}

/* Post for the first sender of the heap, which is due. */
static int issue_request(struct send_loop *l, int64_t now)
{
	struct load_worker *w = l->w;
	uint32_t index = w->heap[0];
	struct load_sender *s = &w->senders[index];
	int n;

	if (!count_free_slots(w, s)) {
		s->blocked = s->full = true;
		pop_sender(w);
		return 0;
	}
	n = post_list(l, s, now);
	if (n < 0)
		return n;
	l->posts++;
	l->moved = now;
	if (s->sent < flow_of(w, s)->track->count)
		sift_down(w, 0);
	else
		pop_sender(w);
	return 0;
}

static void note_failure(struct send_loop *l, const struct ibv_wc *wc)
{
	struct load_worker *w = l->w;
	const struct load_end *end = wc->wr_id & 1 ? &w->ends[wc->wr_id >> 1] : NULL;
	uint32_t sender = (uint32_t)(wc->wr_id >> 1) & 0xffffff;
	const struct load_link *link;
	struct load_failure *failure = &w->result.failure;

	if (w->result.errors++)
		return;
	if (!end)
		end = &w->ends[w->senders[sender].end];
	link = &w->plan->links[end->link];
	*failure = (struct load_failure){
		.from = link->rank[wc->wr_id & 1 ? 1 - end->side : end->side],
		.to = link->rank[wc->wr_id & 1 ? end->side : 1 - end->side],
		.status = wc->status,
		.time = time_now(l)
	};
	w->plan->board->stop = true;
}

static void complete_requests(struct send_loop *l, const struct ibv_wc *wc)
{
	struct load_worker *w = l->w;
	uint32_t index = (uint32_t)(wc->wr_id >> 1) & 0xffffff;
	struct load_sender *s = &w->senders[index];
	uint64_t upto = wc->wr_id >> 25;

	w->result.completed += upto - s->completed;
	s->completed = upto;
	if (s->completed == flow_of(w, s)->track->count)
		l->left--;
	if (s->blocked)
		push_sender(w, index);
	s->blocked = false;
}

/* Returns the number of completions, or -errno after log_err(). */
static int poll_cq(struct send_loop *l, struct ibv_cq *cq)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(cq, BATCH, wc), err;

	if (n < 0)
		return log_err(-EIO, "ibv_poll_cq");
	for (int i = 0; i < n; i++) {
		if (wc[i].status) {
			note_failure(l, &wc[i]);
		} else if (!(wc[i].wr_id & 1)) {
			complete_requests(l, &wc[i]);
		} else {
			l->w->result.received++;
			err = load_post_receive(l->w, (uint32_t)(wc[i].wr_id >> 1));
			if (err)
				return log_err(err, "ibv_post_recv");
		}
	}
	return n;
}

static int poll_all(struct send_loop *l)
{
	int sum = 0;

	l->posts = 0;
	for (size_t i = 0; i < l->w->ncqs; i++) {
		int n = poll_cq(l, l->w->cqs[i]);

		if (n < 0)
			return n;
		sum += n;
	}
	if (sum)
		l->moved = time_now(l);
	return sum;
}

/* Count the messages that the worker's ends must receive. */
static void count_expected(struct send_loop *l)
{
	const struct load_plan *plan = l->w->plan;

	for (size_t i = 0; i < plan->nflows; i++) {
		const struct load_flow *flow = &plan->flows[i];
		uint64_t n;

		if (load_owner(plan, flow->edge.to) != l->w->index)
			continue;
		n = load_track_count(plan->load, flow->track, load_is_message);
		if (flow->class->transport == LOAD_RC)
			l->expected += n;
		else
			l->datagrams += n;
	}
}

static void begin_senders(struct send_loop *l)
{
	struct load_worker *w = l->w;

	for (uint32_t i = 0; i < w->nsenders; i++) {
		struct load_sender *s = &w->senders[i];
		const struct load_flow *flow = flow_of(w, s);

		s->exact = (double)flow->track->start / w->plan->options->pace;
		s->due = (int64_t)s->exact;
		if (!flow->track->count)
			continue;
		l->left++;
		push_sender(w, i);
	}
}

/* Report, once, that all requests of this worker are done. It still polls: others send to it. */
static void report_sent(struct send_loop *l)
{
	if (l->reported || l->left)
		return;
	l->reported = true;
	atomic_fetch_add(&l->w->plan->board->reached[PHASE_SENT], 1);
}

static bool has_ended(const struct send_loop *l, int64_t now)
{
	const struct load_result *result = &l->w->result;
	const struct load_shared *board = l->w->plan->board;

	if (board->err || board->stop)
		return true;
	if (!l->reported || board->reached[PHASE_SENT] < l->w->plan->nworkers)
		return false;
	if (result->received >= l->expected + l->datagrams)
		return true;
	return now - l->moved > STRAGGLER_NS; /* the report has the difference */
}

/* Stop if the user or a time limit requires it. Returns 0, or -errno after log_err(). */
static int check_time(struct send_loop *l, int64_t now)
{
	const struct load_plan *plan = l->w->plan;

	if (plan->options->stop && *plan->options->stop)
		plan->board->stop = true;
	if (plan->deadline && now + l->go > plan->deadline)
		plan->board->late = plan->board->stop = true;
	if (!l->left || l->w->nheap || now - l->moved < plan->options->timeout)
		return 0;
	return log_why(
		-ETIMEDOUT,
		"no completion for %g s, with %zu requests in flight: --timeout waits longer",
		(double)plan->options->timeout / 1e9,
		(size_t)(l->w->result.issued - l->w->result.completed));
}

/* Sleep or spin: nothing is due for @ahead ns, and nothing arrived. */
static void pause_worker(struct send_loop *l, int64_t now, int64_t ahead)
{
	struct timespec nap = { .tv_nsec = SLEEP_NS };

	if (ahead > AWAKE_NS && now - l->moved > BUSY_NS)
		nanosleep(&nap, NULL);
	else if (l->w->plan->nworkers > 1 && ahead > BUSY_NS)
		sched_yield();
}

/* Poll if there is time for it. 0 or -errno. */
static int poll_if_idle(struct send_loop *l, int64_t now)
{
	struct load_worker *w = l->w;
	int64_t ahead = w->nheap ? w->senders[w->heap[0]].due - now : INT64_MAX;
	int n;

	if (ahead < SPIN_NS && l->posts < POLL_AFTER)
		return 0;
	n = poll_all(l);
	if (n < 0)
		return n;
	report_sent(l);
	if (!n)
		pause_worker(l, now, ahead);
	return check_time(l, now);
}

int load_send(struct load_worker *w)
{
	struct send_loop l = { .w = w, .go = w->plan->board->go };
	int err = 0;

	count_expected(&l);
	begin_senders(&l);
	while (!err) {
		int64_t now = time_now(&l);

		if (w->nheap && w->senders[w->heap[0]].due <= now && l.posts < POLL_AFTER)
			err = issue_request(&l, now);
		else if (has_ended(&l, now))
			break;
		else
			err = poll_if_idle(&l, now);
	}
	return err;
}
