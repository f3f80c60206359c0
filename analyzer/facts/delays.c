/*
 * Who was late
 *
 *	rank 5	-- computes ------ send
 *	rank 6	poll: empty ---------- poll: 1, send		5 is the cause
 *	rank 7	poll: empty --------------------- poll: 1	5 is the cause, through 6
 *
 * A process waits from its last verb, or from the begin of ibv_get_cq_event(), to the poll that
 * returns a completion. The peer has caused this until it posted the message, or the receive, that
 * was waited for; but for as long as the peer itself waited, its own cause has. The last SEGMENTS
 * waits of each process are kept for that.
 *
 * Only ranks of a job are looked at: other programs may be idle.
 */
#include "analyzer/facts/delays.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/last.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/queue.h"
#include "core/base/vec.h"

enum {
	SEGMENTS = 64,
	LEAST_NS = 100000,       /* shorter waits do not count */
	LEAST_SEND_NS = 1000000, /* the same of a send: its completion takes a while */
	SOON_NS = 50000000,      /* from the event to the poll */
	LEAST_TIMES = 5,
	LEAST_RANKS = 3,
	RUN_SHARE = 5, /* the waiting because of it is a fifth of the run of those that waited */
	LEAST_LATE_NS = 100000000,
};

/* A process had waited because of @cause. */
struct delay_segment {
	int64_t from, to;
	uint32_t cause;
};

/* The last call of ibv_get_cq_event() of a thread, until it polls something; @to is 0: none. */
struct delay_sleep {
	int64_t from, to;
};

struct delay_process {
	struct delay_segment segments[SEGMENTS]; /* a ring, the oldest at @n % SEGMENTS */
	uint64_t n;
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
	const struct queue *queue; /* of the peer, on which the late post was */
	int64_t from, to;
};

static void add_segment(const struct delay *delay, uint32_t cause, int64_t from, int64_t to)
{
	struct delays *delays = delay->delays;
	struct delay_process *waiter = vec_at(delays->processes, delays->nprocesses, delay->waiter);
	struct delay_cause *of = vec_at(delays->causes, delays->ncauses, cause);
	struct delay_pair *pair =
		cause == delay->waiter ? NULL : pair_of(delays, delay->waiter, cause);

	if (!waiter || !of || !pair)
		return;
	waiter->segments[waiter->n++ % SEGMENTS] = (struct delay_segment){ from, to, cause };
	waiter->waited += to - from;
	delays->waited += to - from;
	of->ns += to - from;
	pair->ns += to - from;
	pair->times++;
}

static void add_late(struct delay_cause *of, int64_t from, int64_t to)
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
static void note_late(const struct delay *delay, int64_t from, int64_t to)
{
	struct delay_cause *of = vec_at(delay->delays->causes, delay->delays->ncauses, delay->peer);
	const struct queue_stats *stats = &delay->queue->stats;

	if (!of)
		return;
	if (to > of->until)
		add_late(of, from, to);
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

static void blame_peer(const struct delay *delay, int64_t from, int64_t to)
{
	if (to - from < LEAST_NS)
		return;
	add_segment(delay, delay->peer, from, to);
	note_late(delay, from, to);
}

/* Split the wait by what its peer did meanwhile: the peer's segments are in order. */
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
		add_segment(delay, found[k].cause, from, to);
		at = to;
	}
	blame_peer(delay, at, delay->to);
}

/* The queue of the other end on which it had to post; NULL: not known. */
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
	other = peer_other(model_peers(model), qp->peer);
	if (!other || !other->life || other->process == event->process)
		return NULL;
	return wc->opcode & ABI_WC_RECV ? other->life->sq : other->life->rq;
}

/* When the wait began that @event ends; INT64_MAX: the thread did not wait. */
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

void delays_return(struct delays *delays, const struct model *model,
		   const struct trace_event *event)
{
	const struct last_verb *last = last_of_thread(model, event->id.thread);
	struct delay_sleep *sleep;

	if (event->call->verb != VERB_get_cq_event || event->call->failed || !last)
		return;
	sleep = vec_at(delays->sleeps, delays->nsleeps, event->id.thread);
	if (sleep)
		*sleep = (struct delay_sleep){ last->at.time, event->time };
}

static __attribute__((noinline)) void look_at_delay(struct delays *delays, struct model *model,
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

void delays_poll(struct delays *delays, struct model *model, const struct trace_event *event)
{
	const struct last_verb *last = last_of_thread(model, event->id.thread);
	int64_t begin = last ? find_begin(delays, last, event) : INT64_MAX;

	if (begin < event->time - LEAST_NS)
		look_at_delay(delays, model, event, begin);
}

/*
 * Was it late again and again, and is it the cause of most of the waiting? One long delay does not
 * count, and neither do delays of all in turn.
 */
static bool is_main(const struct delays *delays, const struct delay_cause *cause)
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
		delays->run += last_time(model, i) - process->start;
	}
	if (delays->waiters + 1 < LEAST_RANKS)
		return;
	for (uint32_t i = 1; i < delays->ncauses; i++) {
		struct delay_cause *cause = &delays->causes[i];

		cause->main = is_main(delays, cause);
		if (cause->main)
			delays->most = i;
	}
}
