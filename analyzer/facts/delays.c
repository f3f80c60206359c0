/*
 * Which process was late
 *
 *	rank 5	-- computes ------ send
 *	rank 6	poll: empty ---------- poll: 1, send		5 is the cause
 *	rank 7	poll: empty --------------------- poll: 1	5 is the cause, through 6
 *
 * A process waits from its last verb, or from the begin of ibv_get_cq_event(), to the poll that
 * returns a completion. Up to its post of the message, or of the receive, the peer is the cause of
 * the wait; while the peer itself waited, the process that the peer waited for is. For that, the
 * last SEGMENTS waits of each process are stored.
 *
 * What the peer's thread did before its late post shows why it was late: it registered memory, or
 * left a completion unpolled in its CQ.
 *
 *	rank 5	-- ibv_reg_mr() --- computes -- poll: 1, send
 *	rank 4	------------------- send: the message arrives
 *	how	 register           send     poll
 *
 * Only ranks of a job are looked at: other programs may be idle.
 */
#include "analyzer/facts/delays.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"
#include "core/base/vec.h"

enum {
	SEGMENTS = 64,
	LEAST_NS = 100000, /* shorter waits do not count */
	/* shorter waits for a send do not count, since its completion takes a while */
	LEAST_SEND_NS = 1000000,
	LEAST_POLL_NS = 1000000, /* how long a completion stays in its CQ to count as unpolled */
	FEW_POLLS = 1,           /* a loop that empties a CQ ends with an empty poll */
	SOON_NS = 50000000,      /* longest time from the event to the poll */
	LEAST_TIMES = 5,
	LEAST_RANKS = 3,
	RUN_SHARE = 5, /* a cause must have caused 1/RUN_SHARE of the waiting processes' run */
	LEAST_LATE_NS = 100000000,
};

const char *const delay_hows[DELAY_HOWS] = {
	[DELAY_SEND] = "send",
	[DELAY_RECEIVE] = "receive",
	[DELAY_POLL] = "poll",
	[DELAY_REGISTER] = "register",
};

/* A process had waited because of @cause. */
struct delay_segment {
	int64_t from, to;
	uint32_t cause;
	enum delay_how how;
};

/* A thread registered memory, or left a completion unpolled; it did not wait. */
struct delay_act {
	int64_t from, to;
	uint32_t thread;
	enum delay_how how;
};

/* The last call of ibv_get_cq_event() of a thread, until it polls something; @to is 0: none. */
struct delay_sleep {
	int64_t from, to;
};

struct delay_process {
	struct delay_segment segments[SEGMENTS]; /* a ring, the oldest at @n % SEGMENTS */
	uint64_t n;
	struct delay_act acts[SEGMENTS]; /* a ring like `segments`, sorted by end */
	uint64_t nacts;
	int64_t waited;
};

struct delays *delays_new(struct trace *trace)
{
	struct delays *delays = calloc(1, sizeof(*delays));

	if (delays)
		delays->trace = trace;
	return delays;
}

void delays_free(struct delays *delays)
{
	if (!delays)
		return;
	free(delays->processes);
	free(delays->sleeps);
	free(delays->pairs);
	free(delays->causes);
	map_fini(&delays->by_pair);
	free(delays);
}

static bool is_rank(const struct delays *delays, uint32_t process)
{
	const struct process *p = trace_process(delays->trace, process);

	return p && p->rank.rank >= 0;
}

static struct delay_pair *pair_of(struct delays *delays, uint32_t waiter, uint32_t cause)
{
	uint64_t key = (uint64_t)waiter << 32 | cause, index;
	struct delay_pair *pair;

	if (map_get(&delays->by_pair, key, &index))
		return &delays->pairs[index - 1];
	pair = vec_push(delays->pairs, delays->npairs);
	if (!pair || map_put(&delays->by_pair, key, delays->npairs)) {
		delays->npairs -= pair != NULL;
		return NULL;
	}
	*pair = (struct delay_pair){ .waiter = waiter, .cause = cause };
	return pair;
}

/* A wait, including its end if that is known. */
struct delay {
	struct delays *delays;
	uint32_t waiter;
	uint32_t peer;
	const struct queue *queue; /* the queue to which the peer posted late */
	int64_t from, to;
};

/* A part of a wait. */
struct delay_part {
	uint32_t cause;
	enum delay_how how;
	int64_t from, to;
	bool first; /* it is the first part of the wait */
};

static void add_part(const struct delay *delay, const struct delay_part *part)
{
	struct delays *delays = delay->delays;
	struct delay_process *waiter = vec_at(delays->processes, delays->nprocesses, delay->waiter);
	struct delay_cause *of = vec_at(delays->causes, delays->ncauses, part->cause);
	struct delay_pair *pair =
		part->cause == delay->waiter ? NULL : pair_of(delays, delay->waiter, part->cause);
	int64_t ns = part->to - part->from;

	if (!waiter || !of || !pair || ns <= 0)
		return;
	waiter->segments[waiter->n++ % SEGMENTS] =
		(struct delay_segment){ part->from, part->to, part->cause, part->how };
	waiter->waited += ns;
	delays->waited += ns;
	of->ns += ns;
	of->by[part->how] += ns;
	pair->ns += ns;
	pair->by[part->how] += ns;
	pair->times += part->first;
}

/* Add @part, and let the next part begin at its end. False: it is empty. */
static bool finish_part(const struct delay *delay, struct delay_part *part)
{
	if (part->to <= part->from)
		return false;
	add_part(delay, part);
	part->from = part->to;
	return true;
}

static void add_late_span(struct delay_cause *of, int64_t from, int64_t to)
{
	if (from < of->until)
		from = of->until;
	else
		of->times++;
	of->late += to - from;
	of->longest = to - from > of->longest ? to - from : of->longest;
	of->until = to;
}

/* The peer itself was late: other processes may have waited for it, too. */
static void note_late_peer(const struct delay *delay, int64_t from, int64_t to)
{
	struct delay_cause *of = vec_at(delay->delays->causes, delay->delays->ncauses, delay->peer);
	const struct queue_stats *stats = &delay->queue->stats;

	if (!of)
		return;
	if (to > of->until)
		add_late_span(of, from, to);
	if (of->first.id.thread && (of->by_send || !delay->queue->send))
		return;
	of->by_send = delay->queue->send;
	of->first = (struct moment){ .id = { stats->last_thread, stats->last_number },
				     .verb = stats->last_verb,
				     .process = delay->peer,
				     .stack = stats->last_stack,
				     .time = stats->last_time };
	of->qp = delay->queue->owner ? delay->queue->owner->id : 0;
}

/* The peer was late from @from until its post at @to: split this time by what its thread did. */
static void blame_peer(const struct delay *delay, int64_t from, int64_t to)
{
	const struct delay_process *peer =
		vec_at(delay->delays->processes, delay->delays->nprocesses, delay->peer);
	uint64_t n = peer ? peer->nacts : 0, i = n > SEGMENTS ? n - SEGMENTS : 0;
	struct delay_part part = { .cause = delay->peer, .from = from, .first = true };
	enum delay_how how = delay->queue->send ? DELAY_SEND : DELAY_RECEIVE;
	struct delay_act acts[SEGMENTS];
	size_t nacts = 0;

	if (to - from < LEAST_NS)
		return;
	for (; i < n; i++)
		if (peer->acts[i % SEGMENTS].to > from && peer->acts[i % SEGMENTS].from < to &&
		    peer->acts[i % SEGMENTS].thread == delay->queue->stats.last_thread)
			acts[nacts++] = peer->acts[i % SEGMENTS];
	for (size_t k = 0; k < nacts; k++) {
		part.how = how;
		part.to = acts[k].from;
		part.first &= !finish_part(delay, &part);
		part.how = acts[k].how;
		part.to = acts[k].to < to ? acts[k].to : to;
		part.first &= !finish_part(delay, &part);
	}
	part.how = how;
	part.to = to;
	finish_part(delay, &part);
	note_late_peer(delay, from, to);
}

/* Split the wait by what the peer did during it. The peer's segments are sorted. */
static void split_delay(const struct delay *delay)
{
	const struct delay_process *peer =
		vec_at(delay->delays->processes, delay->delays->nprocesses, delay->peer);
	uint64_t n = peer ? peer->n : 0, i = n > SEGMENTS ? n - SEGMENTS : 0;
	struct delay_segment found[SEGMENTS];
	int64_t at = delay->from;
	size_t nfound = 0;

	for (; i < n; i++)
		if (peer->segments[i % SEGMENTS].to > delay->from)
			found[nfound++] = peer->segments[i % SEGMENTS];
	for (size_t k = 0; k < nfound; k++) {
		int64_t from = found[k].from > at ? found[k].from : at;
		int64_t to = found[k].to < delay->to ? found[k].to : delay->to;

		if (to <= from)
			continue;
		blame_peer(delay, at, from);
		add_part(delay,
			 &(struct delay_part){ found[k].cause, found[k].how, from, to, true });
		at = to;
	}
	blame_peer(delay, at, delay->to);
}

/* The queue of the other end to which that end posted late; NULL: not known. */
static const struct queue *find_queue(struct delays *delays, struct model *model,
				      const struct trace_event *event)
{
	const struct wc *wc = &event->poll->wc[0];
	const struct object *object = trace_object(delays->trace, wc->qp);
	const struct life *qp =
		object ? model_life(model, event->process, OBJECT_qp, object->handle) : NULL;
	const struct peer *other;

	if (wc->status || !qp || qp->id != wc->qp || !qp->peer)
		return NULL;
	other = peer_find_other(model_peers(model), qp->peer);
	if (!other || !other->life || other->process == event->process)
		return NULL;
	return wc->opcode & ABI_WC_RECV ? other->life->sq : other->life->rq;
}

/* The begin of the wait that @event ends; INT64_MAX: the thread did not wait. */
static int64_t find_begin(struct delays *delays, const struct last_verb *last,
			  const struct trace_event *event)
{
	uint32_t thread = event->id.thread;
	struct delay_sleep *sleep = thread < delays->nsleeps ? &delays->sleeps[thread] : NULL;
	int64_t begin = sleep && sleep->to ? sleep->from : INT64_MAX;

	if (sleep && event->time - sleep->to > SOON_NS)
		begin = INT64_MAX;
	if (sleep)
		sleep->to = 0;
	if (begin == INT64_MAX && event->poll->empty)
		begin = last->returned;
	return begin;
}

static bool is_registering(enum verb verb)
{
	return verb_infos[verb].object == OBJECT_mr && (verb_infos[verb].effect == EFFECT_CREATE ||
							verb_infos[verb].effect == EFFECT_DESTROY);
}

/* Consecutive calls count as one act. */
static void note_activity(struct delays *delays, const struct trace_event *event, int64_t from,
			  enum delay_how how)
{
	struct delay_process *of =
		is_rank(delays, event->process)
			? vec_at(delays->processes, delays->nprocesses, event->process)
			: NULL;
	struct delay_act *last = of && of->nacts ? &of->acts[(of->nacts - 1) % SEGMENTS] : NULL;

	if (!of)
		return;
	if (last && last->thread == event->id.thread && last->how == how &&
	    from - last->to < LEAST_NS) {
		last->to = event->time;
		return;
	}
	if (last && from < last->to)
		from = last->to;
	of->acts[of->nacts++ % SEGMENTS] =
		(struct delay_act){ from, event->time, event->id.thread, how };
}

void delays_note_return(struct delays *delays, const struct model *model,
			const struct trace_event *event)
{
	const struct last_verb *last = last_verb_of_thread(model, event->id.thread);
	struct delay_sleep *sleep;

	if (!last)
		return;
	if (is_registering(event->call->verb))
		note_activity(delays, event, last->at.time, DELAY_REGISTER);
	if (event->call->verb != VERB_get_cq_event || event->call->failed)
		return;
	sleep = vec_at(delays->sleeps, delays->nsleeps, event->id.thread);
	if (sleep)
		*sleep = (struct delay_sleep){ last->at.time, event->time };
}

static __attribute__((noinline)) void examine_delay(struct delays *delays, struct model *model,
						    const struct trace_event *event, int64_t begin)
{
	const struct queue *queue = find_queue(delays, model, event);
	struct delay delay = { .delays = delays, .waiter = event->process, .queue = queue };

	if (!queue || !queue->owner || queue->stats.last_time <= begin ||
	    queue->stats.last_time > event->time ||
	    (!queue->send && event->time - begin < LEAST_SEND_NS))
		return;
	delay.peer = queue->owner->process;
	delay.from = begin;
	delay.to = queue->stats.last_time;
	if (is_rank(delays, delay.waiter) && is_rank(delays, delay.peer))
		split_delay(&delay);
}

/* If this is the first poll since a message arrived long before it, note the act. */
static __attribute__((noinline)) void examine_poll(struct delays *delays, struct model *model,
						   const struct trace_event *event, int64_t begin)
{
	const struct queue *queue = find_queue(delays, model, event);
	int64_t come;

	if (!queue || !queue->send)
		return;
	come = queue->stats.last_time > begin ? queue->stats.last_time : begin;
	if (event->time - come >= LEAST_POLL_NS)
		note_activity(delays, event, come, DELAY_POLL);
}

void delays_note_poll(struct delays *delays, struct model *model, const struct trace_event *event)
{
	const struct last_verb *last = last_verb_of_thread(model, event->id.thread);
	int64_t begin = last ? find_begin(delays, last, event) : INT64_MAX;

	if (begin < event->time - LEAST_NS)
		examine_delay(delays, model, event, begin);
	if (last && event->poll->empty <= FEW_POLLS &&
	    event->time - last->returned >= LEAST_POLL_NS)
		examine_poll(delays, model, event, last->returned);
}

enum delay_how delays_main_reason(const struct delay_cause *cause)
{
	enum delay_how most = DELAY_SEND;

	for (enum delay_how how = 0; how < DELAY_HOWS; how++)
		if (cause->by[how] > cause->by[most])
			most = how;
	return most;
}

/*
 * Was the process late again and again, and is it the cause of most of the waiting? One long delay
 * does not count, and neither do delays that all processes cause in turn.
 */
static bool is_main_cause(const struct delays *delays, const struct delay_cause *cause)
{
	return cause->times >= LEAST_TIMES && cause->longest <= cause->late / 2 &&
	       cause->late >= LEAST_LATE_NS && cause->ns > delays->waited / 3 * 2 &&
	       cause->ns > delays->run / RUN_SHARE;
}

void delays_finish(struct delays *delays, const struct model *model)
{
	for (uint32_t i = 1; i < delays->nprocesses; i++) {
		const struct process *process = trace_process(delays->trace, i);

		if (!delays->processes[i].waited || !process)
			continue;
		delays->waiters++;
		delays->run += last_verb_time(model, i) - process->start;
	}
	if (delays->waiters + 1 < LEAST_RANKS)
		return;
	for (uint32_t i = 1; i < delays->ncauses; i++) {
		struct delay_cause *cause = &delays->causes[i];

		cause->main = is_main_cause(delays, cause);
		if (cause->main)
			delays->most = i;
	}
}
