/*
 * Which work request does a completion belong to?
 *
 * For each queue the requests that are outstanding, oldest first, in a ring
 * that grows. A completion takes the first that fits; the unsignaled before it
 * are retired with it, the signaled stay, since another thread's poll may
 * carry an earlier time stamp than it should. What never completes where we
 * can see it (an extended CQ, a lost event) is pushed out when more is posted
 * than the queue holds.
 *
 * Where the beginning is missing a queue may hold requests that nobody knows
 * of, and a program that gives all its requests the same wr_id is not to be
 * told from one whose requests were all seen. So such a queue is `unsure`, and
 * learns: with as many different wr_ids in a row as it holds, a wr_id says
 * which request it is; where one is there twice, nothing does.
 *
 * On an error the opcode is not valid, so the side is not known: the queue
 * whose CQ it is; the sends, if only they can fail so; else the one that has the wr_id at its front; else the one
 * that has it at all; of both the older one.
 *
 * With XRC, and with receive work queues, a completion's queue pair does not
 * tell where its request was posted: it is the oldest with that wr_id of the
 * queues that complete on this CQ.
 */
#include "core/store/match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/abi.h"
#include "core/wire/log.h"

enum { UNKNOWN_MAX = 1 << 16, SMALL = 16 };

struct entry {
	uint64_t wr_id, n;
	int64_t time;
	uint32_t thread, index;
	bool signaled;
};

struct queue {
	struct entry *ring;
	uint32_t first, count, size; /* size is 0 or a power of two */
	uint32_t max;                /* 0 unknown */
	uint32_t asked;              /* that the program may have outstanding; 0 unknown */
	bool unsure;
	bool repeats;                /* unsure: for good, a wr_id came twice */
	uint64_t *seen;              /* unsure: wr_ids + 1, hashed; 0 none */
	uint32_t nseen, seen_size;
};

struct state {
	struct queue sq, rq; /* an SRQ or WQ has only rq */
	struct match_qp info;
	uint32_t cq;         /* of an XRC SRQ or a WQ */
	struct state *next;  /* of those */
};

struct match {
	struct state **states; /* by object */
	uint32_t count;
	int64_t time;           /* of match_event()'s event */
	int64_t kept_from;      /* INT64_MIN: nothing is missing */
	struct state *with_cq;
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

void match_kept_from(struct match *match, int64_t time)
{
	match->kept_from = time;
}

/* Nothing is in it, or nobody knows. */
static void empty(struct queue *queue, bool unsure)
{
	free(queue->ring);
	free(queue->seen);
	queue->ring = NULL;
	queue->seen = NULL;
	queue->first = queue->count = queue->size = queue->nseen = queue->seen_size = 0;
	queue->unsure = unsure;
	queue->repeats = false;
}

static void state_free(struct state *state)
{
	if (!state)
		return;
	empty(&state->sq, false);
	empty(&state->rq, false);
	free(state);
}

void match_free(struct match *match)
{
	if (!match)
		return;
	for (uint32_t i = 0; i < match->count; i++)
		state_free(match->states[i]);
	free(match->states);
	free(match);
}

static struct state *find(const struct match *match, uint32_t object)
{
	return object < match->count ? match->states[object] : NULL;
}

static struct state *make(struct match *match, uint32_t object)
{
	struct state *state = find(match, object);

	if (state || !object)
		return state;
	if (object >= match->count) {
		uint32_t count = match->count ? match->count : 64;
		struct state **more;

		while (count <= object)
			count *= 2;
		more = realloc(match->states, count * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + match->count, 0, (count - match->count) * sizeof(*more));
		match->states = more;
		match->count = count;
	}
	state = calloc(1, sizeof(*state));
	match->states[object] = state;
	if (state)
		state->sq.unsure = state->rq.unsure = match->kept_from != INT64_MIN;
	return state;
}

static void settle(const struct match *match, struct queue *queue, uint32_t max, uint32_t asked)
{
	/* a device gives more than was asked for, but not twice as much */
	queue->max = max * 2;
	queue->asked = asked ? asked : max;
	if (match->kept_from != INT64_MIN)
		empty(queue, match->time <= match->kept_from);
}

int match_add_qp(struct match *match, uint32_t qp, const struct match_qp *info)
{
	struct state *state = make(match, qp);

	if (!state)
		return qp ? -ENOMEM : 0;
	state->info = *info;
	settle(match, &state->sq, info->max_send_wr, info->asked_send_wr);
	settle(match, &state->rq, info->max_recv_wr, info->asked_recv_wr);
	return 0;
}

int match_add_srq(struct match *match, uint32_t srq, uint32_t max_wr, uint32_t asked_wr,
		  uint32_t cq)
{
	struct state *state = make(match, srq);

	if (!state)
		return srq ? -ENOMEM : 0;
	settle(match, &state->rq, max_wr, asked_wr);
	if (cq && !state->cq) {
		state->next = match->with_cq;
		match->with_cq = state;
	}
	state->cq = cq;
	return 0;
}

void match_grow_srq(struct match *match, uint32_t srq, uint32_t max_wr)
{
	struct state *state = find(match, srq);

	if (!state)
		return;
	if (state->rq.max && state->rq.max < max_wr * 2)
		state->rq.max = max_wr * 2;
	if (state->rq.asked && state->rq.asked < max_wr)
		state->rq.asked = max_wr;
}

static void unlink_state(struct match *match, const struct state *state)
{
	struct state **at = &match->with_cq;

	while (*at && *at != state)
		at = &(*at)->next;
	if (*at)
		*at = state->next;
}

void match_reset(struct match *match, uint32_t qp)
{
	struct state *state = find(match, qp);

	if (!state)
		return;
	empty(&state->sq, match->time <= match->kept_from);
	empty(&state->rq, match->time <= match->kept_from);
}

void match_remove(struct match *match, uint32_t object)
{
	if (!find(match, object))
		return;
	unlink_state(match, match->states[object]);
	state_free(match->states[object]);
	match->states[object] = NULL;
}

static struct entry *entry_at(const struct queue *queue, uint32_t i)
{
	return &queue->ring[(queue->first + i) & (queue->size - 1)];
}

static int grow(struct queue *queue)
{
	uint32_t size = queue->size ? queue->size * 2 : SMALL;
	struct entry *ring = malloc(size * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->count; i++)
		ring[i] = *entry_at(queue, i);
	free(queue->ring);
	queue->ring = ring;
	queue->first = 0;
	queue->size = size;
	return 0;
}

static void stop_learning(struct queue *queue, bool repeats)
{
	free(queue->seen);
	queue->seen = NULL;
	queue->nseen = queue->seen_size = 0;
	queue->repeats = repeats;
	queue->unsure = repeats;
}

/* Where @wr_id is or belongs: @size is a power of two, and one place is free. */
static uint64_t *seen_at(uint64_t *seen, uint32_t size, uint64_t wr_id)
{
	uint32_t at = (uint32_t)(wr_id * 0x9e3779b97f4a7c15ull >> 32) & (size - 1);

	while (seen[at] && seen[at] != wr_id + 1)
		at = (at + 1) & (size - 1);
	return &seen[at];
}

static int grow_seen(struct queue *queue)
{
	uint32_t size = queue->seen_size ? queue->seen_size * 2 : 4 * SMALL;
	uint64_t *more = calloc(size, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->seen_size; i++)
		if (queue->seen[i])
			*seen_at(more, size, queue->seen[i] - 1) = queue->seen[i];
	free(queue->seen);
	queue->seen = more;
	queue->seen_size = size;
	return 0;
}

/* One more request in a queue that may hold others. */
static int learn(struct queue *queue, uint64_t wr_id)
{
	uint32_t enough = queue->asked && queue->asked < UNKNOWN_MAX ? queue->asked : UNKNOWN_MAX;
	uint64_t *at;

	if (queue->nseen >= queue->seen_size / 2 && grow_seen(queue))
		return -ENOMEM;
	at = seen_at(queue->seen, queue->seen_size, wr_id);
	if (*at || wr_id == UINT64_MAX) {
		stop_learning(queue, true);
		return 0;
	}
	*at = wr_id + 1;
	if (++queue->nseen > enough)
		stop_learning(queue, false);
	return 0;
}

static int push(struct queue *queue, const struct entry *entry)
{
	uint32_t max = queue->max ? queue->max : UNKNOWN_MAX;

	if (__builtin_expect(queue->unsure, 0) && !queue->repeats && learn(queue, entry->wr_id))
		return -ENOMEM;
	if (queue->count >= max) {
		queue->first = (queue->first + 1) & (queue->size - 1);
		queue->count--;
	}
	if (queue->count == queue->size && grow(queue))
		return -ENOMEM;
	*entry_at(queue, queue->count++) = *entry;
	return 0;
}

int match_post(struct match *match, uint32_t object, const struct post *post, struct event_id id,
	       int64_t time)
{
	struct state *state = make(match, object);
	bool send = post_is_send(post);
	uint32_t count = post_taken(post);

	if (!state)
		return object ? -ENOMEM : 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct wr *wr = &post->wr[i];
		struct entry entry = { wr->wr_id, id.n, time, id.thread, i,
				       !send || state->info.sq_sig_all ||
					       (wr->send_flags & ABI_SEND_SIGNALED) };

		if (push(send ? &state->sq : &state->rq, &entry))
			return -ENOMEM;
	}
	return 0;
}

/* The first with that wr_id, and signaled if it must be; -1 if there is none. */
static int64_t search(const struct queue *queue, uint64_t wr_id, bool signaled)
{
	for (uint32_t i = 0; i < queue->count; i++) {
		const struct entry *entry = entry_at(queue, i);

		if (entry->wr_id == wr_id && (!signaled || entry->signaled))
			return i;
	}
	return -1;
}

/* Take it out, and the unsignaled before it. */
static struct entry take(struct queue *queue, uint32_t at)
{
	struct entry taken = *entry_at(queue, at);
	uint32_t keep = at + 1; /* what stays moves up to here */

	for (uint32_t i = at; i > 0; i--)
		if (entry_at(queue, i - 1)->signaled)
			*entry_at(queue, --keep) = *entry_at(queue, i - 1);
	queue->first = (queue->first + keep) & (queue->size - 1);
	queue->count -= keep;
	return taken;
}

static struct queue *receive_queue(struct match *match, struct state *state)
{
	struct state *srq = state->info.srq ? find(match, state->info.srq) : NULL;

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

/* An error: its opcode says nothing. */
static bool error_is_receive(struct match *match, struct state *state, uint32_t cq,
			     const struct wc *wc)
{
	const struct match_qp *info = &state->info;
	struct queue *rq = receive_queue(match, state);
	int64_t s, r;

	if (cq && info->send_cq && info->recv_cq && info->send_cq != info->recv_cq &&
	    (cq == info->send_cq || cq == info->recv_cq))
		return cq == info->recv_cq;
	s = search(&state->sq, wc->wr_id, false);
	r = search(rq, wc->wr_id, false);
	if (s < 0 || r < 0)
		return r >= 0;
	if (only_sends_fail_with(wc->status))
		return false;
	if (!s != !r)
		return !r;
	return entry_at(rq, (uint32_t)r)->time < entry_at(&state->sq, (uint32_t)s)->time;
}

/* Of the queue pair's own queues, and the one of the SRQ it was made with. */
static struct queue *find_own(struct match *match, struct state *state, uint32_t cq,
			      const struct wc *wc, bool *receive, int64_t *ret_at)
{
	bool success = wc->status == ABI_WC_SUCCESS;
	struct queue *queue;

	if (!success)
		*receive = error_is_receive(match, state, cq, wc);
	queue = *receive ? receive_queue(match, state) : &state->sq;
	*ret_at = search(queue, wc->wr_id, success);
	if (*ret_at < 0)
		*ret_at = search(queue, wc->wr_id, false);
	return *ret_at < 0 ? NULL : queue;
}

/* Of those that complete on @cq, whatever the queue pair. */
static struct queue *find_by_cq(struct match *match, uint32_t cq, const struct wc *wc,
				int64_t *ret_at)
{
	struct queue *oldest = NULL;

	for (struct state *state = match->with_cq; state && cq; state = state->next) {
		int64_t at = state->cq == cq ? search(&state->rq, wc->wr_id, false) : -1;

		if (at < 0 || (oldest && entry_at(&state->rq, (uint32_t)at)->time >
						 entry_at(oldest, (uint32_t)*ret_at)->time))
			continue;
		oldest = &state->rq;
		*ret_at = at;
	}
	return oldest;
}

bool match_wc(struct match *match, uint32_t qp, uint32_t cq, const struct wc *wc,
	      struct match_found *ret_found)
{
	struct state *state = find(match, qp);
	bool receive = wc->opcode & ABI_WC_RECV;
	struct queue *queue = NULL;
	struct entry entry;
	int64_t at;

	if (state)
		queue = find_own(match, state, cq, wc, &receive, &at);
	if (!queue && (receive || wc->status != ABI_WC_SUCCESS)) {
		queue = find_by_cq(match, cq, wc, &at);
		receive |= queue != NULL;
	}
	*ret_found = (struct match_found){ .posted_at = -1, .receive = receive };
	if (!queue)
		return false;
	entry = take(queue, (uint32_t)at);
	if (queue->unsure)
		return false;
	ret_found->request = (struct event_id){ entry.thread, entry.n };
	ret_found->index = entry.index;
	ret_found->posted_at = entry.time;
	return true;
}

/* The request of @state that a completion from @cq may be of, or NULL. */
static const struct entry *candidate(const struct match *match, const struct state *state,
				     uint32_t cq, const struct wc *wc)
{
	const struct match_qp *info = &state->info;
	const struct state *srq = info->srq ? find(match, info->srq) : NULL;
	bool success = wc->status == ABI_WC_SUCCESS, receive = wc->opcode & ABI_WC_RECV;
	const struct queue *queue = srq ? &srq->rq : &state->rq;
	int64_t at = -1;

	if (info->recv_cq == cq && (receive || !success))
		at = search(queue, wc->wr_id, false);
	if (at < 0 && info->send_cq == cq && (!receive || !success)) {
		queue = &state->sq;
		at = search(queue, wc->wr_id, success);
	}
	return at < 0 ? NULL : entry_at(queue, (uint32_t)at);
}

uint32_t match_guess(const struct match *match, uint32_t cq, const struct wc *wc)
{
	const struct entry *entry, *oldest = NULL;
	uint32_t found = 0, only = 0, queues = 0;
	bool unsure = false;

	for (uint32_t i = 0; cq && i < match->count; i++) {
		const struct state *state = match->states[i];

		if (!state || (state->info.send_cq != cq && state->info.recv_cq != cq))
			continue;
		only = i;
		queues++;
		unsure |= state->sq.unsure || state->rq.unsure;
		entry = candidate(match, state, cq, wc);
		if (entry && (!oldest || entry->time < oldest->time)) {
			oldest = entry;
			found = i;
		}
	}
	return queues == 1 ? only : unsure ? 0 : found;
}

static uint32_t object_arg(struct trace *trace, const struct trace_event *event,
			   const struct args *args, const char *path, enum object_kind kind)
{
	const struct object *o = NULL;
	int64_t handle;

	if (args_get(args, path, &handle))
		o = trace_object_at(trace, event->process, kind, (uint64_t)handle, event->time);
	return o ? o->id : 0;
}

/* The larger of what was asked for and what came out, under either name of the argument. */
static uint32_t capability(const struct args *in, const struct args *out, const char *const *paths)
{
	int64_t value, most = 0;

	for (; *paths; paths++) {
		if (args_get(in, *paths, &value) && value > most)
			most = value;
		if (out && args_get(out, *paths, &value) && value > most)
			most = value;
	}
	return most < UINT32_MAX / 4 ? (uint32_t)most : 0;
}

/* What the program asked for alone. */
static uint32_t asked(const struct args *in, const char *const *paths)
{
	return capability(in, NULL, paths);
}

/* A shared receive queue, or a work queue. */
static int add_receives(struct match *match, struct trace *trace, const struct trace_event *event,
			const struct args *in, const struct args *out)
{
	static const char *const max[] = { "srq_init_attr.attr.max_wr",
					   "srq_init_attr_ex.attr.max_wr", "wq_init_attr.max_wr",
					   NULL };
	uint32_t cq = object_arg(trace, event, in, "srq_init_attr_ex.cq", OBJECT_cq);

	if (!cq)
		cq = object_arg(trace, event, in, "wq_init_attr.cq", OBJECT_cq);
	return match_add_srq(match, event->call->object, capability(in, out, max), asked(in, max),
			     cq);
}

static int add_created(struct match *match, struct trace *trace, const struct trace_event *event,
		       const struct args *in, const struct args *out)
{
	static const char *const send[] = { "qp_init_attr.cap.max_send_wr",
					    "qp_init_attr_ex.cap.max_send_wr", NULL };
	static const char *const recv[] = { "qp_init_attr.cap.max_recv_wr",
					    "qp_init_attr_ex.cap.max_recv_wr", NULL };
	static const char *const all[] = { "qp_init_attr.sq_sig_all", "qp_init_attr_ex.sq_sig_all",
					   NULL };
	struct match_qp info;

	if (verb_infos[event->call->verb].object != OBJECT_qp)
		return add_receives(match, trace, event, in, out);
	info = (struct match_qp){
		.send_cq = object_arg(trace, event, out, "ret.send_cq", OBJECT_cq),
		.recv_cq = object_arg(trace, event, out, "ret.recv_cq", OBJECT_cq),
		.srq = object_arg(trace, event, out, "ret.srq", OBJECT_srq),
		.max_send_wr = capability(in, out, send),
		.max_recv_wr = capability(in, out, recv),
		.asked_send_wr = asked(in, send),
		.asked_recv_wr = asked(in, recv),
		.sq_sig_all = capability(in, out, all),
	};
	return match_add_qp(match, event->call->object, &info);
}

/* ibv_bind_mw() posts to the send queue: ibv_bind_mw(3). */
static int add_bind(struct match *match, struct trace *trace, const struct trace_event *event,
		    const struct args *in)
{
	uint32_t qp = object_arg(trace, event, in, "qp", OBJECT_qp);
	int64_t wr_id = 0, flags = 0;
	struct wr wr = { 0 };
	struct post post = { .verb = VERB_post_send, .nwr = 1, .wr = &wr };

	args_get(in, "mw_bind.wr_id", &wr_id);
	args_get(in, "mw_bind.send_flags", &flags);
	wr.wr_id = (uint64_t)wr_id;
	wr.send_flags = (uint32_t)flags;
	return match_post(match, qp, &post, event->id, event->time);
}

static int with_args(struct match *match, struct trace *trace, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct args *in = NULL, *out = NULL;
	bool reset = false;
	int64_t state, max_wr;
	int err = args_parse(call->args, &in);

	if (!err)
		err = args_parse(call->out, &out);
	if (err)
		goto done;
	if (call->verb == VERB_bind_mw)
		err = add_bind(match, trace, event, in);
	else if (call->verb == VERB_modify_srq && args_get(in, "srq_attr.max_wr", &max_wr))
		match_grow_srq(match, call->object, (uint32_t)max_wr);
	else if (call->verb == VERB_modify_wq)
		reset = args_get(in, "wq_attr.wq_state", &state) && state == ABI_WQS_RESET;
	else if (call->verb == VERB_modify_qp)
		reset = args_get(in, "attr.qp_state", &state) && state == ABI_QPS_RESET;
	else if (verb_infos[call->verb].effect == EFFECT_CREATE)
		err = add_created(match, trace, event, in, out);
	if (reset)
		match_reset(match, call->object);
done:
	args_free(in);
	args_free(out);
	return err;
}

int match_event(struct match *match, struct trace *trace, const struct trace_event *event)
{
	const struct call *call = event->call;
	const struct verb_info *verb;

	match->time = event->time;
	if (event->kind == TRACE_POST)
		return match_post(match, event->post->object, event->post, event->id, event->time);
	if ((event->kind != TRACE_CALL && event->kind != TRACE_RETURN) || call->failed ||
	    call->end < 0 || !call->object)
		return 0;
	verb = &verb_infos[call->verb];
	/* another thread may poll its completion, or post, before it returns */
	if (event->kind == TRACE_CALL)
		return call->verb == VERB_bind_mw || call->verb == VERB_modify_srq ?
			       with_args(match, trace, event) : 0;
	if (verb->object != OBJECT_qp && verb->object != OBJECT_srq && verb->object != OBJECT_wq)
		return 0;
	if (verb->effect == EFFECT_DESTROY)
		match_remove(match, call->object);
	else if (verb->effect == EFFECT_CREATE || call->verb == VERB_modify_qp ||
		 call->verb == VERB_modify_wq)
		return with_args(match, trace, event);
	return 0;
}
