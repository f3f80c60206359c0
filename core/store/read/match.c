/*
 * Which work request does a completion belong to?
 *
 * Each queue has a list of its outstanding requests (match_queue.c). A completion gets the first
 * request that fits. The unsignaled requests before that one are retired, too; signaled ones stay,
 * since another thread's poll may have a time stamp that is too early.
 *
 * On an error the opcode is not valid, so it does not distinguish a send from a receive. Then the
 * request is in the queue that completes on this CQ. If both queues do, it is in the only one whose
 * requests can fail with this status; else in the one whose next request has the wr_id; else in the
 * only one that has the wr_id. If both have it, both requests are reported, the more likely one
 * first.
 *
 * With XRC, and with receive work queues, a completion's queue pair does not determine the queue of
 * its request. The request is the oldest one with that wr_id in the queues that complete on this
 * CQ.
 *
 * Not here: effects of verbs on the queues (match_event.c).
 */
#include "core/store/read/match.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/map.h"
#include "core/store/chunk/abi.h"
#include "core/store/read/match_queue.h"
#include "core/wire/log.h"

/* A queue pair, shared receive queue or work queue. */
struct queue_requests {
	uint32_t object;
	uint32_t process;                     /* the first process that used it */
	struct queue_requests *after, **link; /* links of the list of all states */
	struct match_queue sq, rq;            /* an SRQ or WQ has only rq */
	struct match_qp info;
	uint32_t cq;                 /* CQ of an XRC SRQ or a WQ */
	struct queue_requests *next; /* next in the list with_cq */
};

enum { RECENT = 64 };

struct match {
	struct map by_object; /* to struct queue_requests */
	/* the states found last, hashed by object; entries may be NULL */
	struct queue_requests *recent[RECENT];
	struct queue_requests *states; /* list of all states */
	int64_t time;                  /* of the current event */
	uint32_t process;              /* of the current event */
	/* posts before this time may be missing; INT64_MIN: none are */
	int64_t kept_from;
	struct queue_requests *with_cq;
};

int match_new(struct match **ret_match)
{
	struct match *match = calloc(1, sizeof(*match));

	if (!match)
		return log_err(-ENOMEM, "match completions");
	match->kept_from = INT64_MIN;
	*ret_match = match;
	return 0;
}

void match_set_stored_from(struct match *match, int64_t time)
{
	match->kept_from = time;
}

static void unlink_state(struct match *match, const struct queue_requests *state)
{
	struct queue_requests **at = &match->with_cq;

	while (*at && *at != state)
		at = &(*at)->next;
	if (*at)
		*at = state->next;
}

static void drop_state(struct match *match, struct queue_requests *state)
{
	map_remove(&match->by_object, state->object);
	match->recent[state->object % RECENT] = NULL;
	*state->link = state->after;
	if (state->after)
		state->after->link = state->link;
	if (state->cq)
		unlink_state(match, state);
	match_queue_clear(&state->sq, false);
	match_queue_clear(&state->rq, false);
	free(state);
}

/* Remove the states of @process, or with @all those of all processes. */
static void drop_all(struct match *match, bool all, uint32_t process)
{
	for (struct queue_requests *state = match->states, *after; state; state = after) {
		after = state->after;
		if (all || state->process == process)
			drop_state(match, state);
	}
}

void match_free(struct match *match)
{
	if (!match)
		return;
	drop_all(match, true, 0);
	map_fini(&match->by_object);
	free(match);
}

static struct queue_requests *look_up_state(const struct match *match, uint32_t object)
{
	uint64_t state;

	return map_get(&match->by_object, object, &state)
		       ? (struct queue_requests *)(uintptr_t)state
		       : NULL;
}

static inline struct queue_requests *find_state(struct match *match, uint32_t object)
{
	struct queue_requests **recent = &match->recent[object % RECENT];

	if (!*recent || (*recent)->object != object)
		*recent = look_up_state(match, object);
	return *recent;
}

static struct queue_requests *make_state(struct match *match, uint32_t object)
{
	struct queue_requests *state = find_state(match, object);

	if (state || !object)
		return state;
	state = calloc(1, sizeof(*state));
	if (!state || map_put(&match->by_object, object, (uintptr_t)state)) {
		free(state);
		return NULL;
	}
	state->object = object;
	state->process = match->process;
	state->sq.unsure = state->rq.unsure = match->kept_from != INT64_MIN;
	state->after = match->states;
	state->link = &match->states;
	if (state->after)
		state->after->link = &state->after;
	match->states = state;
	return state;
}

void match_set_position(struct match *match, int64_t time, uint32_t process)
{
	match->time = time;
	match->process = process;
}

void match_end_process(struct match *match, uint32_t process)
{
	drop_all(match, false, process);
}

static void set_capacity(const struct match *match, struct match_queue *queue, uint32_t max,
			 uint32_t asked)
{
	/* a device may grant more than requested, but not twice as much */
	queue->max = max * 2;
	queue->asked = asked ? asked : max;
	if (match->kept_from != INT64_MIN)
		match_queue_clear(queue, match->time <= match->kept_from);
}

int match_add_qp(struct match *match, uint32_t qp, const struct match_qp *info)
{
	struct queue_requests *state = make_state(match, qp);

	if (!state)
		return qp ? -ENOMEM : 0;
	state->info = *info;
	set_capacity(match, &state->sq, info->max_send_wr, info->asked_send_wr);
	set_capacity(match, &state->rq, info->max_recv_wr, info->asked_recv_wr);
	return 0;
}

int match_add_srq(struct match *match, uint32_t srq, uint32_t max_wr, uint32_t asked_wr,
		  uint32_t cq)
{
	struct queue_requests *state = make_state(match, srq);

	if (!state)
		return srq ? -ENOMEM : 0;
	set_capacity(match, &state->rq, max_wr, asked_wr);
	if (cq && !state->cq) {
		state->next = match->with_cq;
		match->with_cq = state;
	}
	state->cq = cq;
	return 0;
}

void match_grow_srq(struct match *match, uint32_t srq, uint32_t max_wr)
{
	struct queue_requests *state = find_state(match, srq);

	if (!state)
		return;
	if (state->rq.max && state->rq.max < max_wr * 2)
		state->rq.max = max_wr * 2;
	if (state->rq.asked && state->rq.asked < max_wr)
		state->rq.asked = max_wr;
}

void match_reset(struct match *match, uint32_t qp)
{
	struct queue_requests *state = find_state(match, qp);

	if (!state)
		return;
	match_queue_clear(&state->sq, match->time <= match->kept_from);
	match_queue_clear(&state->rq, match->time <= match->kept_from);
}

void match_remove(struct match *match, uint32_t object)
{
	struct queue_requests *state = find_state(match, object);

	if (state)
		drop_state(match, state);
}

int match_note_post(struct match *match, uint32_t object, const struct post *post,
		    struct event_id id, int64_t time)
{
	struct queue_requests *state = make_state(match, object);
	bool send = post_is_send(post);
	uint32_t count = post_taken(post);

	if (!state)
		return object ? -ENOMEM : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct wr *wr = &post->wr[i];
		struct match_request *request =
			match_queue_push(send ? &state->sq : &state->rq, wr->wr_id);

		if (!request)
			return -ENOMEM;
		*request = (struct match_request){
			wr->wr_id,
			id.n,
			time,
			id.thread,
			i,
			!send || state->info.sq_sig_all || (wr->send_flags & ABI_SEND_SIGNALED)
		};
	}
	return 0;
}

static struct match_queue *receive_queue(struct match *match, struct queue_requests *state)
{
	struct queue_requests *srq = state->info.srq ? find_state(match, state->info.srq) : NULL;

	return srq ? &srq->rq : &state->rq;
}

static bool only_sends_fail_with(int status)
{
	switch (status) {
	case ABI_WC_MW_BIND_ERR:
	case ABI_WC_BAD_RESP_ERR:
	case ABI_WC_REM_ACCESS_ERR:
	case ABI_WC_REM_OP_ERR:
	case ABI_WC_RETRY_EXC_ERR:
	case ABI_WC_RNR_RETRY_EXC_ERR:
		return true;
	default:
		return false;
	}
}

/*
 * Which of two candidates is more likely? Flushes come roughly in the order of the posts. A message
 * that is too long usually fails at its receiver; most requests that fail otherwise are sends.
 */
static bool is_more_likely_receive(const struct match_request *send,
				   const struct match_request *receive, int status)
{
	if (status == ABI_WC_WR_FLUSH_ERR)
		return receive->time < send->time;
	return status == ABI_WC_LOC_LEN_ERR;
}

/*
 * Count the requests with @wr_id that may complete next. @in_order: only up to the first signaled
 * one.
 */
static uint32_t count_first(const struct match_queue *queue, uint64_t wr_id, bool in_order)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < queue->count; i++) {
		const struct match_request *request = match_queue_at(queue, i);

		n += request->wr_id == wr_id;
		if (in_order && request->signaled)
			break;
	}
	return n;
}

/*
 * Does a failed completion, whose opcode is not valid, belong to a receive? *@ret_either: it may
 * also belong to a request of the send queue.
 */
static bool error_is_receive(struct match *match, struct queue_requests *state, uint32_t cq,
			     const struct wc *wc, bool *ret_either)
{
	const struct match_qp *info = &state->info;
	struct match_queue *rq = receive_queue(match, state);
	uint32_t sends;
	int64_t s, r;

	if (cq && info->send_cq && info->recv_cq && info->send_cq != info->recv_cq &&
	    (cq == info->send_cq || cq == info->recv_cq))
		return cq == info->recv_cq;
	s = match_queue_find(&state->sq, wc->wr_id, false);
	r = match_queue_find(rq, wc->wr_id, false);
	if (s < 0 || r < 0)
		return r >= 0;
	if (only_sends_fail_with(wc->status))
		return false;
	if (wc->status == ABI_WC_LOC_ACCESS_ERR)
		return true;
	sends = count_first(&state->sq, wc->wr_id, true);
	if (!sends != !count_first(rq, wc->wr_id, rq == &state->rq))
		return !sends;
	*ret_either = wc->status != ABI_WC_WR_FLUSH_ERR;
	return is_more_likely_receive(match_queue_at(&state->sq, (uint32_t)s),
				      match_queue_at(rq, (uint32_t)r), wc->status);
}

/* The number of requests that a failed completion may belong to; @queue is the likely queue. */
static uint32_t count_candidates(struct match *match, struct queue_requests *state, uint32_t cq,
				 const struct wc *wc, struct match_queue *queue)
{
	const struct match_qp *info = &state->info;
	struct match_queue *rq = receive_queue(match, state);
	bool apart = cq && info->send_cq != info->recv_cq;
	uint32_t n = 0;

	if (wc->status == ABI_WC_SUCCESS || wc->status == ABI_WC_WR_FLUSH_ERR)
		return 0;
	if (queue != &state->sq && queue != rq)
		return count_first(queue, wc->wr_id, false);
	if (queue == &state->sq || !apart)
		n += count_first(&state->sq, wc->wr_id, true);
	if (queue == rq || !(apart || only_sends_fail_with(wc->status)))
		n += count_first(rq, wc->wr_id, rq == &state->rq);
	return n ? n : 1;
}

/* Note the candidate in @queue, the less likely queue. */
static void note_other_request(struct match_queue *queue, uint64_t wr_id, struct match_found *found)
{
	const struct match_request *request;

	if (queue->unsure)
		return;
	request = match_queue_at(queue, (uint32_t)match_queue_find(queue, wr_id, false));
	found->other = (struct event_id){ request->thread, request->n };
	found->other_index = request->index;
	found->other_posted_at = request->time;
}

/* Find the request in the queues of the queue pair, or in that of its SRQ. */
static struct match_queue *find_in_own_queues(struct match *match, struct queue_requests *state,
					      uint32_t cq, const struct wc *wc, bool *receive,
					      int64_t *ret_at, struct match_found *ret_found)
{
	bool success = wc->status == ABI_WC_SUCCESS, either = false;
	struct match_queue *queue;

	if (!success)
		*receive = error_is_receive(match, state, cq, wc, &either);
	if (either)
		note_other_request(*receive ? &state->sq : receive_queue(match, state), wc->wr_id,
				   ret_found);
	queue = *receive ? receive_queue(match, state) : &state->sq;
	*ret_at = match_queue_find(queue, wc->wr_id, success);
	if (*ret_at < 0)
		*ret_at = match_queue_find(queue, wc->wr_id, false);
	return *ret_at < 0 ? NULL : queue;
}

/* Find the request in the queues that complete on @cq, regardless of the queue pair. */
static struct match_queue *find_by_cq(struct match *match, uint32_t cq, const struct wc *wc,
				      int64_t *ret_at)
{
	struct match_queue *oldest = NULL;

	for (struct queue_requests *state = match->with_cq; state && cq; state = state->next) {
		int64_t at = state->cq == cq ? match_queue_find(&state->rq, wc->wr_id, false) : -1;

		if (at < 0 || (oldest && match_queue_at(&state->rq, (uint32_t)at)->time >
						 match_queue_at(oldest, (uint32_t)*ret_at)->time))
			continue;
		oldest = &state->rq;
		*ret_at = at;
	}
	return oldest;
}

bool match_oldest(struct match *match, struct wc *wc)
{
	struct queue_requests *state = find_state(match, wc->qp);
	const struct match_request *request;
	struct match_queue *queue;

	if (!state || wc->status != ABI_WC_SUCCESS ||
	    abi_is_of_tags((uint32_t)wc->status, (uint32_t)wc->opcode, wc->wc_flags))
		return false;
	queue = wc->opcode & ABI_WC_RECV ? receive_queue(match, state) : &state->sq;
	if (!queue->count || queue->unsure)
		return false;
	request = match_queue_at(queue, 0);
	if (request->wr_id != wc->wr_id || !request->signaled)
		return false;
	wc->request = (struct event_id){ request->thread, request->n };
	wc->request_index = request->index;
	wc->posted_at = request->time;
	match_queue_take(queue, 0);
	return true;
}

bool match_find_request(struct match *match, uint32_t qp, uint32_t cq, const struct wc *wc,
			struct match_found *ret_found)
{
	struct queue_requests *state = find_state(match, qp);
	bool receive = wc->opcode & ABI_WC_RECV;
	const struct match_request *request;
	struct match_queue *queue = NULL;
	int64_t at;

	*ret_found = (struct match_found){ .posted_at = -1, .other_posted_at = -1 };
	if (abi_is_of_tags((uint32_t)wc->status, (uint32_t)wc->opcode, wc->wc_flags)) {
		ret_found->receive = true;
		return false;
	}
	if (state)
		queue = find_in_own_queues(match, state, cq, wc, &receive, &at, ret_found);
	if (!queue && (receive || wc->status != ABI_WC_SUCCESS)) {
		queue = find_by_cq(match, cq, wc, &at);
		receive |= queue != NULL;
	}
	ret_found->receive = receive;
	if (!queue)
		return false;
	ret_found->candidates = state ? count_candidates(match, state, cq, wc, queue) : 1;
	request = match_queue_at(queue, (uint32_t)at);
	if (!queue->unsure) {
		ret_found->request = (struct event_id){ request->thread, request->n };
		ret_found->index = request->index;
		ret_found->posted_at = request->time;
	}
	match_queue_take(queue, (uint32_t)at);
	return !queue->unsure;
}

/* The request of @state that a completion from @cq may belong to, or NULL. */
static const struct match_request *find_candidate(struct match *match,
						  const struct queue_requests *state, uint32_t cq,
						  const struct wc *wc)
{
	const struct match_qp *info = &state->info;
	const struct queue_requests *srq = info->srq ? find_state(match, info->srq) : NULL;
	bool success = wc->status == ABI_WC_SUCCESS, receive = wc->opcode & ABI_WC_RECV;
	const struct match_queue *queue = srq ? &srq->rq : &state->rq;
	int64_t at = -1;

	if (info->recv_cq == cq && (receive || !success))
		at = match_queue_find(queue, wc->wr_id, false);
	if (at < 0 && info->send_cq == cq && (!receive || !success)) {
		queue = &state->sq;
		at = match_queue_find(queue, wc->wr_id, success);
	}
	return at < 0 ? NULL : match_queue_at(queue, (uint32_t)at);
}

/* Search state: the queue pair that completes on the CQ and has the oldest fitting request. */
struct queue_guess {
	const struct queue_requests *found, *only;
	const struct match_request *oldest;
	unsigned int queues;
	bool unsure;
};

static void add_guess(struct match *match, const struct queue_requests *state, uint32_t cq,
		      const struct wc *wc, struct queue_guess *guess)
{
	const struct match_request *request;

	if (state->info.send_cq != cq && state->info.recv_cq != cq)
		return;
	guess->only = state;
	guess->queues++;
	guess->unsure |= state->sq.unsure || state->rq.unsure;
	request = find_candidate(match, state, cq, wc);
	if (!request || (guess->oldest && (request->time > guess->oldest->time ||
					   (request->time == guess->oldest->time &&
					    state->object > guess->found->object))))
		return;
	guess->oldest = request;
	guess->found = state;
}

uint32_t match_guess(struct match *match, uint32_t cq, const struct wc *wc)
{
	struct queue_guess guess = { 0 };

	for (const struct queue_requests *state = cq ? match->states : NULL; state;
	     state = state->after)
		add_guess(match, state, cq, wc, &guess);
	if (guess.queues == 1)
		return guess.only->object;
	return guess.unsure || !guess.found ? 0 : guess.found->object;
}
