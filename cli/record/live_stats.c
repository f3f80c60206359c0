/*
 * What the program does while it runs, counted for `verbatim top`
 *
 * 	trace, as it is written --> profile --> state, once a second --> live_page.c
 *
 * Not here: the reader (cli/top/).
 */
#include "cli/record/live_stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/model/lives.h"
#include "analyzer/model/queue.h"
#include "analyzer/profile/pass.h"
#include "cli/record/follow.h"
#include "cli/record/live_devices.h"
#include "cli/record/live_page.h"
#include "core/wire/log.h"

#define MS 1000000

enum {
	WINDOW_NS = 100 * MS, /* by how much events of different threads may be out of order */
	ROUND_NS = 100 * MS,
	HOLD_NS = 100 * MS, /* for how long a viewer delays the deletion of events */
	BUSY = 25,          /* percent of a ring: reading comes first */
};

/* Latencies of a queue pair that had a row, at the last publication. */
struct earlier_latency {
	uint32_t object;
	struct histogram latency;
};

struct live_stats {
	const struct session *session;
	struct writer *writer;
	int fd;                    /* of the page; -1: no viewer yet */
	bool awaited;              /* a reader is about to look for the first time */
	bool asked;                /* a viewer is attached, or about to attach */
	struct follow follow;      /* closed while another reader passes on events */
	struct trace *trace;       /* the trace that is followed */
	struct profiler *profiler; /* NULL: there is no reader */
	bool attached;             /* another reader follows, and passes on events */
	bool over;                 /* after a failure, or the end */
	void (*each)(void *arg, const struct live_now *now); /* live_stats_each(); NULL: none */
	void *each_arg;
	struct live_devices devices; /* devices of the trace, for @each */
	uint64_t looked_at;          /* CLOCK_MONOTONIC: last check whether there is a reader */
	uint64_t published_at;
	int64_t now;   /* time of the trace: all events until then are counted */
	int64_t limit; /* time of the trace: events up to it can be counted now */
	int64_t seen;  /* time of the trace: events up to it were read from the rings */

	/* totals and counts at the last publication */
	struct live_totals totals;
	int64_t time;
	struct live_counts *counts; /* by object */
	size_t ncounts;
	struct earlier_latency befores[LIVE_QUEUES];
	struct histogram opcodes[PROFILE_OPCODES];
};

int live_stats_new(const struct session *session, struct writer *writer, bool awaited,
		   struct live_stats **ret_vitals)
{
	struct live_stats *v = calloc(1, sizeof(*v));

	if (!v)
		return log_err(-ENOMEM, "compute the live statistics");
	v->session = session;
	v->writer = writer;
	v->awaited = awaited;
	v->fd = awaited ? live_page_create(session) : -1;
	if (awaited && v->fd < 0) {
		int err = log_err(v->fd, "make a file in %s", session->dir);

		free(v);
		return err;
	}
	*ret_vitals = v;
	return 0;
}

/* Forget the last publication, so that the next one has no predecessor. */
static void forget_before(struct live_stats *v)
{
	free(v->counts);
	v->counts = NULL;
	v->ncounts = 0;
	v->totals = (struct live_totals){ 0 };
	v->time = 0;
	for (size_t i = 0; i < LIVE_QUEUES; i++)
		histogram_fini(&v->befores[i].latency);
	for (size_t i = 0; i < PROFILE_OPCODES; i++)
		histogram_fini(&v->opcodes[i]);
}

static void stop_counting(struct live_stats *v)
{
	profiler_close(v->profiler);
	follow_close(&v->follow);
	v->profiler = NULL;
	v->trace = NULL;
	forget_before(v);
}

void live_stats_free(struct live_stats *v)
{
	if (!v)
		return;
	stop_counting(v);
	if (v->fd >= 0)
		close(v->fd);
	free(v->devices.devices);
	free(v->devices.contexts);
	free(v);
}

static void fail_live_stats(struct live_stats *v)
{
	struct live_state state = { .phase = LIVE_FAILED };

	stop_counting(v);
	v->over = true;
	if (v->fd >= 0)
		live_page_write(v->fd, &state);
	if (v->asked)
		log_note("`verbatim top` gets no more statistics; the recording continues");
}

/* Counts */

/* Errors are all recorded, even if the rest is sampled. */
static uint64_t scale_completions(uint64_t n, uint64_t completions, uint64_t errors)
{
	return (completions - errors) * n + errors;
}

static struct live_counts subtract_counts(const struct live_counts *now,
					  const struct live_counts *before)
{
	return (struct live_counts){
		.requests = now->requests - before->requests,
		.receives = now->receives - before->receives,
		.sent = now->sent - before->sent,
		.received = now->received - before->received,
		.completions = now->completions - before->completions,
		.errors = now->errors - before->errors,
	};
}

static struct live_totals sum_profile(const struct profile *profile, uint64_t n)
{
	struct live_totals totals = {
		.data = { .requests = n * profile->send.requests,
			  .receives = n * profile->receive.requests,
			  .sent = n * profile->sent,
			  .received = n * profile->received,
			  .completions =
				  scale_completions(n, profile->completions, profile->errors),
			  .errors = profile->errors },
		.flushed = profile->flushed,
		.registered = profile->registered,
		.registered_bytes = profile->registered_bytes,
	};

	for (int v = 0; v < VERB_COUNT; v++)
		if (verb_infos[v].plane != PLANE_DATA) {
			totals.calls += profile->verbs[v].calls;
			totals.failed += profile->verbs[v].errors;
		}
	return totals;
}

static int put_totals(struct live_stats *v, struct live_state *state, const struct profile *profile,
		      uint64_t n)
{
	struct live_totals *all = &state->all;
	const struct live_totals *was = &v->totals;
	struct profile_waited waited;
	int err = profiler_waits(v->profiler, &waited);

	*all = sum_profile(profile, n);
	all->waits = waited.times;
	all->waited_ns = waited.ns;
	state->waited_most = waited.most;
	state->since = (struct live_totals){
		.data = subtract_counts(&all->data, &was->data),
		.flushed = all->flushed - was->flushed,
		.calls = all->calls - was->calls,
		.failed = all->failed - was->failed,
		.registered = all->registered - was->registered,
		.registered_bytes = all->registered_bytes - was->registered_bytes,
		.waits = all->waits - was->waits,
		.waited_ns = all->waited_ns - was->waited_ns,
	};
	v->totals = *all;
	return err;
}

/* Latencies since @before, which is then set to @all. */
static struct live_latency compute_latency(const struct histogram *all, struct histogram *before)
{
	struct histogram since = { 0 };
	struct live_latency latency;

	histogram_merge(&since, all);
	histogram_subtract(&since, before);
	latency = (struct live_latency){
		.count = since.count,
		.half = histogram_percentile(&since, 50),
		.most_of_all = histogram_percentile(&since, 99),
		.longest = since.count ? (int64_t)since.max : -1,
	};
	histogram_fini(&since);
	histogram_fini(before);
	histogram_merge(before, all);
	return latency;
}

static void put_latencies(struct live_stats *v, struct live_state *state,
			  const struct profile *profile)
{
	for (unsigned int o = 0; o < PROFILE_OPCODES && profile->one_of < 2; o++) {
		struct histogram all = { 0 };
		struct live_latency latency;

		profile_latency(profile, o, &all);
		latency = compute_latency(&all, &v->opcodes[o]);
		latency.opcode = o;
		if (all.count && state->nlatencies < LIVE_OPCODES)
			state->latencies[state->nlatencies++] = latency;
		histogram_fini(&all);
	}
}

/* Queue pairs */

static struct live_counts count_queue(const struct profile_queue *queue, uint64_t n)
{
	return (struct live_counts){
		.requests = n * queue->send.requests,
		.receives = n * queue->receive.requests,
		.sent = n * queue->sent,
		.received = n * queue->received,
		.completions =
			n * (queue->send.completions + queue->receive.completions) + queue->errors,
		.errors = queue->errors,
	};
}

/* Queues with most traffic since the last publication come first, then those with most in total. */
struct candidate {
	const struct profile_queue *queue;
	struct live_counts all, since;
};

static uint64_t traffic_of(const struct live_counts *counts)
{
	return counts->requests + counts->receives + counts->completions;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	uint64_t x = traffic_of(&left->since), y = traffic_of(&right->since);

	if (x == y) {
		x = traffic_of(&left->all);
		y = traffic_of(&right->all);
	}
	if (x == y)
		return left->queue->object < right->queue->object ? -1 : 1;
	return x > y ? -1 : 1;
}

/* Compute the counts of each queue since the last time, and store the totals. NULL: no memory. */
static struct candidate *list_candidates(struct live_stats *v, const struct profile *profile,
					 uint64_t n, size_t *ret_n)
{
	struct candidate *all = calloc(profile->nobjects + 1, sizeof(*all));
	struct live_counts *counts = realloc(v->counts, (profile->nobjects + 1) * sizeof(*counts));

	*ret_n = 0;
	v->counts = counts ? counts : v->counts;
	if (!all || !counts) {
		free(all);
		return NULL;
	}
	for (; v->ncounts < profile->nobjects; v->ncounts++)
		counts[v->ncounts] = (struct live_counts){ 0 };
	for (size_t i = 0; i < profile->nobjects; i++) {
		struct candidate *each = &all[*ret_n];

		if (!profile->queues[i])
			continue;
		each->queue = profile->queues[i];
		each->all = count_queue(each->queue, n);
		each->since = subtract_counts(&each->all, &counts[i]);
		counts[i] = each->all;
		++*ret_n;
	}
	return all;
}

static struct live_depth depth_of(const struct queue *queue)
{
	if (!queue)
		return (struct live_depth){ 0 };
	return (struct live_depth){
		.outstanding = queue->outstanding,
		.capacity = queue->limits.given ? queue->limits.given : queue->limits.asked,
		.known = !queue->doubt,
	};
}

/* The latencies of @object at the last publication, or an empty entry for them. */
static struct histogram *find_last_latency(struct live_stats *v, uint32_t object,
					   struct earlier_latency *next)
{
	for (size_t i = 0; i < LIVE_QUEUES; i++)
		if (v->befores[i].object == object) {
			*next = v->befores[i];
			v->befores[i] = (struct earlier_latency){ 0 };
			return &next->latency;
		}
	*next = (struct earlier_latency){ .object = object };
	return &next->latency;
}

static void put_queue(struct live_stats *v, struct live_queue *row, const struct candidate *from,
		      struct earlier_latency *next)
{
	static const struct histogram none;
	const struct profile_queue *queue = from->queue;
	const struct object *object = trace_object(v->trace, queue->object);
	const struct life *life = object ? profiler_life(v->profiler, object) : NULL;

	*row = (struct live_queue){ .object = queue->object,
				    .process = queue->process,
				    .number = object ? object->number : 0,
				    .all = from->all,
				    .since = from->since,
				    .gone = !life };
	snprintf(row->name, sizeof(row->name), "%s", object ? object->name : "?");
	if (life) {
		row->send = depth_of(life->sq);
		row->receive = depth_of(life->rq);
	}
	row->latency = compute_latency(queue->latency ? queue->latency : &none,
				       find_last_latency(v, queue->object, next));
}

static int put_queues(struct live_stats *v, struct live_state *state, const struct profile *profile,
		      uint64_t n)
{
	struct earlier_latency next[LIVE_QUEUES] = { 0 };
	size_t ncandidates;
	struct candidate *all = list_candidates(v, profile, n, &ncandidates);

	if (!all)
		return log_err(-ENOMEM, "compute the live statistics");
	qsort(all, ncandidates, sizeof(*all), compare_candidates);
	state->queues_of_all = (uint32_t)ncandidates;
	for (size_t i = 0; i < ncandidates && i < LIVE_QUEUES; i++)
		put_queue(v, &state->queues[state->nqueues++], &all[i], &next[i]);
	for (size_t i = 0; i < LIVE_QUEUES; i++)
		histogram_fini(&v->befores[i].latency);
	memcpy(v->befores, next, sizeof(next));
	free(all);
	return 0;
}

/* Publishing */

static int publish_state(struct live_stats *v, enum live_phase phase)
{
	const struct profile *profile = profiler_profile(v->profiler);
	struct writer_progress done = writer_progress(v->writer);
	struct totals totals = trace_totals(v->trace);
	/* the final profile already has estimates */
	uint64_t n = phase == LIVE_ENDED || !profile->one_of ? 1 : profile->one_of;
	struct live_state *state = calloc(1, sizeof(*state));
	int err = state ? put_totals(v, state, profile, n) : log_err(-ENOMEM, "publish counts");

	if (!err) {
		state->phase = phase;
		state->one_of = profile->one_of;
		state->time = v->now;
		state->seen = v->seen;
		state->interval = v->now - v->time;
		state->events = done.events;
		state->lost = done.lost;
		state->bytes = done.bytes;
		state->processes = totals.processes;
		state->threads = totals.threads;
		state->regions = trace_alive(v->trace, OBJECT_mr, 0, v->now);
		v->time = v->now;
		put_latencies(v, state, profile);
		err = put_queues(v, state, profile, n);
	}
	if (!err && v->fd >= 0) {
		err = live_page_write(v->fd, state);
		err = err ? log_err(err, "publish counts") : 0;
	}
	if (!err && v->each)
		v->each(v->each_arg,
			&(struct live_now){ &v->devices, v->trace, v->profiler, state, n });
	v->published_at = clock_monotonic();
	free(state);
	return err;
}

static int publish_if_due(struct live_stats *v, bool behind)
{
	if (!v->asked || clock_monotonic() - v->published_at < LIVE_ROUND_NS)
		return 0;
	return publish_state(v, behind ? LIVE_BEHIND : LIVE_RUNNING);
}

/* Steps */

static int start_counting(struct live_stats *v)
{
	int err = follow_open(&v->follow, v->writer);

	v->trace = v->follow.trace;
	if (!err)
		err = profiler_open(v->trace, NULL, &v->profiler);
	v->published_at = 0;
	v->now = 0;
	return err;
}

static int count_event(void *arg, const struct trace_event *event)
{
	struct live_stats *v = arg;

	v->now = event->time;
	if (v->each)
		live_devices_learn(&v->devices, event);
	return profiler_process_event(v->profiler, event);
}

static void find_viewer(struct live_stats *v)
{
	if (v->fd < 0)
		v->fd = live_page_open(v->session);
	v->asked = v->fd >= 0 && live_page_has_viewer(v->fd);
	v->awaited = v->awaited && !v->asked;
	v->asked |= v->awaited || v->each;
}

void live_stats_each(struct live_stats *v, void (*each)(void *arg, const struct live_now *now),
		     void *arg)
{
	v->each = each;
	v->each_arg = arg;
}

/* Once in a round: find whether there is a reader, and how far to count. */
static int begin_round(struct live_stats *v, uint64_t start)
{
	int err = 0;

	v->looked_at = start;
	find_viewer(v);
	if (v->attached)
		return 0;
	if (!v->asked && v->profiler)
		stop_counting(v);
	if (v->asked && !v->profiler)
		err = start_counting(v);
	if (err || !v->asked || v->follow.more)
		return err;
	v->limit = v->seen > WINDOW_NS ? v->seen - WINDOW_NS : 0;
	return follow_extend(&v->follow, v->limit);
}

/* 1: there is more to count; 0 or -errno. */
static int count_slice(struct live_stats *v, uint64_t start, int fullest)
{
	int more;

	if (!v->follow.more || fullest > BUSY)
		return v->follow.more;
	more = follow_for_slice(&v->follow, start, count_event, v);
	if (!more && v->limit > v->now)
		v->now = v->limit;
	return more;
}

bool live_stats_step(struct live_stats *v, int64_t seen, int fullest)
{
	uint64_t start = clock_monotonic();
	int err = 0, more = 0;

	v->seen = seen;
	if (v->over)
		return false;
	if (start - v->looked_at >= ROUND_NS)
		err = begin_round(v, start);
	if (!err && v->profiler) {
		more = count_slice(v, start, fullest);
		err = more < 0 ? more : publish_if_due(v, more);
	}
	if (err)
		fail_live_stats(v);
	return !err && more;
}

bool live_stats_has_viewer(const struct live_stats *v)
{
	return v->asked && !v->over;
}

/* Beside a check, which reads the trace whether there is a reader or not */

int live_stats_attach(struct live_stats *v, struct trace *trace)
{
	if (!v)
		return 0;
	v->attached = true;
	v->trace = trace;
	return profiler_open(trace, NULL, &v->profiler);
}

void live_stats_count_event(struct live_stats *v, const struct trace_event *event)
{
	if (v && !v->over && count_event(v, event))
		fail_live_stats(v);
}

/* Count all events of the range, or until the clock is at @end. 1: there are more; 0 or -errno. */
static int count_until(struct live_stats *v, uint64_t end)
{
	uint64_t now;
	int more = v->follow.more;

	while (more > 0 && (now = clock_monotonic()) < end)
		more = follow_for_slice(&v->follow, now, count_event, v);
	return more;
}

void live_stats_read_until(struct live_stats *v, int64_t time)
{
	uint64_t end = v->each ? UINT64_MAX : clock_monotonic() + HOLD_NS;
	int more;

	if (v->over || v->attached || !v->profiler)
		return;
	more = count_until(v, end);
	if (!more && v->follow.to < time)
		more = follow_extend(&v->follow, time) ?: count_until(v, end);
	if (more < 0)
		fail_live_stats(v);
	else if (more)
		stop_counting(v); /* the next round starts again, with the remaining events */
}

void live_stats_detach(struct live_stats *v)
{
	if (!v || !v->attached)
		return;
	if (!v->over)
		fail_live_stats(v);
	stop_counting(v);
	v->attached = false;
}

/* The end */

static int count_to_end(struct live_stats *v)
{
	int err = v->profiler ? 0 : start_counting(v);
	int64_t end;

	if (!err && !v->attached)
		err = follow_extend(&v->follow, INT64_MAX)
			      ?: follow_to_end(&v->follow, count_event, v);
	if (err)
		return err;
	end = trace_totals(v->trace).duration;
	v->now = end > v->now ? end : v->now;
	return profiler_finish(v->profiler);
}

void live_stats_finish(struct live_stats *v)
{
	if (v->over)
		return;
	find_viewer(v);
	if (v->asked && (count_to_end(v) ?: publish_state(v, LIVE_ENDED)))
		fail_live_stats(v);
	v->over = true;
}
