/*
 * Makes a profile in one pass of the events through the model
 *
 * 	events --> the requested part     --> calls, polls
 * 	       --> model --------------------> posts, completions
 *
 * The model sees every event, since requests that are outstanding at the begin of a part were
 * posted before the part.
 */
#include "analyzer/profile/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/profile/calls.h"
#include "analyzer/profile/data.h"
#include "analyzer/profile/messages.h"
#include "analyzer/profile/place_table.h"
#include "analyzer/profile/profiler.h"
#include "analyzer/profile/rows.h"
#include "analyzer/profile/scale.h"
#include "analyzer/profile/timing.h"
#include "analyzer/rules/evidence.h"
#include "core/store/read/lookup.h"
#include "core/store/read/reader.h"
#include "core/wire/log.h"

/*
 * How long the recorder made threads wait: p->next_wait is the next row of table `waited`; after
 * the last row its time is INT64_MAX.
 */

static int next_wait_row(struct profiler *p)
{
	int found = waited_next(p->waits, &p->next_wait);

	if (found != 1)
		p->next_wait.time = INT64_MAX;
	return found < 0 ? found : 0;
}

/* Read the first wait, if the trace has the table. 0 or -errno after log_err(). */
static int open_waits(struct profiler *p)
{
	const char *recorded = trace_meta(p->trace, "waits");
	int err;

	p->next_wait.time = INT64_MAX;
	if (!recorded || strcmp(recorded, "yes") != 0)
		return 0;
	p->profile->waited.known = true;
	err = waited_open(p->trace, &p->waits);
	return err ? err : next_wait_row(p);
}

static void count_wait(struct profiler *p, const struct waited_row *row)
{
	struct profile_waited *waited = &p->profile->waited;
	struct profile_thread *thread = rows_get_thread(p, row->id.thread, row->process);

	waited->times += row->times;
	profiler_add(&waited->ns, row->ns);
	*(row->full ? &waited->full : &waited->longer) += row->times;
	profiler_add(row->full ? &waited->full_ns : &waited->longer_ns, row->ns);
	if (row->ns > waited->most) {
		waited->most = row->ns;
		waited->worst = row->id;
		waited->worst_at = row->time;
	}
	if (!thread)
		return;
	waited->threads += !thread->waits;
	thread->waits += row->times;
	profiler_add(&thread->waited_ns, row->ns);
}

/* The sums of the table so far: times, ns and most. 0 or -errno after log_err(). */
static int sum_waits(const struct profiler *p, struct profile_waited *ret_waited)
{
	struct lookup_waited sums;
	int err = lookup_waited(p->trace, &sums);

	*ret_waited = (struct profile_waited){
		.known = true, .times = sums.times, .ns = sums.ns, .most = sums.longest
	};
	return err;
}

static void close_waits(struct profiler *p)
{
	waited_close(p->waits);
}

/*
 * A poll that finds completions has the number of empty polls before it. The empty polls after the
 * last such poll are only in table `poll_count`, without a time: so they count only if the whole
 * process is counted.
 */

static void forget_empty_polls(struct profile *profile)
{
	profile->empty = 0;
	for (size_t i = 0; i < profile->nprocesses; i++)
		profile->processes[i].empty = 0;
	for (size_t i = 0; i < profile->nthreads; i++)
		profile->threads[i].empty = 0;
	for (size_t i = 0; i < profile->nobjects; i++) {
		struct profile_cq *cq = profile->cqs[i];

		if (!cq)
			continue;
		profile->verbs[cq->batches ? VERB_start_poll : VERB_poll_cq].calls -= cq->empty;
		cq->empty = 0;
	}
}

static void add_empty(void *arg, const struct lookup_count *count)
{
	struct profiler *p = arg;
	struct profile_process *process;
	struct profile_thread *thread;
	uint64_t empty = count->empty;
	struct profile_cq *cq;

	process = rows_process(p, count->process);
	thread = rows_get_thread(p, count->thread, count->process);
	cq = rows_get_cq(p, count->object, count->process);
	p->profile->empty += empty;
	if (process)
		process->empty += empty;
	if (thread)
		thread->empty += empty;
	if (!cq)
		return;
	cq->empty += empty;
	p->profile->verbs[cq->batches ? VERB_start_poll : VERB_poll_cq].calls += empty;
}

/*
 * Replace the counts that polls with completions gave by the total of each thread, which includes
 * the empty polls after the last such poll. 0 or -errno after log_err().
 */
static int count_empty(struct profiler *p)
{
	forget_empty_polls(p->profile);
	return lookup_counts(p->trace, p->select->process, LOOKUP_BY_CQ, add_empty, p);
}

static void on_post(void *arg, const struct model_post *post)
{
	struct profiler *p = arg;

	data_count_post(arg, post);
	messages_note_post(arg, post);
	if (p->timing)
		timing_note_post(p->timing, post);
}

static void on_complete(void *arg, const struct model_complete *complete)
{
	struct profiler *p = arg;

	data_count_completion(arg, complete);
	messages_note_completion(arg, complete);
	if (p->timing)
		timing_note_completion(p->timing, complete);
}

static void on_modify(void *arg, const struct model_modify *modify)
{
	struct profiler *p = arg;

	data_note_modify(arg, modify);
	messages_note_modify(arg, modify);
	if (p->timing)
		timing_note_modify(p->timing, modify);
}

static void on_retire(void *arg, const struct life *object)
{
	messages_note_retired(arg, object);
}

static void on_leave(void *arg, const struct life *object)
{
	struct profiler *p = arg;

	p->more->leave(p->more->arg, object);
}

/* Are there posts or polls that bypassed the verbs? */
static int find_bypassed(struct trace *trace, bool *ret_bypassed)
{
	struct findings *findings = calloc(1, sizeof(*findings));
	int err = findings ? evidence_note_gaps(trace, findings) : -ENOMEM;

	*ret_bypassed = findings && findings->bypassed;
	findings_free(findings);
	return err;
}

static int make_model(struct profiler *p)
{
	struct model_watcher watcher = { .post = on_post,
					 .complete = on_complete,
					 .modify = on_modify,
					 .retire = on_retire,
					 .leave = p->more->leave ? on_leave : NULL,
					 .states_only = true,
					 .starved = true,
					 .arg = p };
	bool bypassed;
	int err = find_bypassed(p->trace, &bypassed);

	if (!err)
		err = model_new(p->trace, &watcher, &p->model);
	if (!err && bypassed)
		model_set_bypassed(p->model);
	if (!err && p->more->ret_timeline)
		err = timing_new(p->trace, p->model, p->more->lanes, &p->timing);
	return err;
}

static void describe_trace(struct profiler *p)
{
	struct profile *profile = p->profile;
	const char *filter = trace_meta(p->trace, "filter");
	const struct profile_select *select = p->select;

	profile->from = select->from;
	profile->to = select->to ? select->to : INT64_MAX;
	profile->partial = select->from || select->to || select->process || select->nphases;
	profile->one_of = trace_sampling_factor(p->trace);
	profile->filtered = filter && *filter;
	profile->whole_from = trace_complete_since(p->trace);
	profile->first = profile->last = profile->first_post = profile->last_completion = -1;
}

static int make_rows(struct profiler *p)
{
	rows_grow(p);
	p->ninside = p->select->nphases ? p->profile->nprocesses + 1 : 0;
	p->inside = calloc(p->ninside + 1, sizeof(*p->inside));
	return p->no_memory || !p->inside ? log_err(-ENOMEM, "profile") : 0;
}

static int prepare_profiler(struct profiler *p)
{
	int err;

	p->profile = calloc(1, sizeof(*p->profile));
	if (!p->profile)
		return log_err(-ENOMEM, "profile");
	describe_trace(p);
	err = make_rows(p);
	if (!err)
		err = make_model(p);
	p->next_wait.time = INT64_MAX;
	return err || trace_is_live(p->trace) ? err : open_waits(p);
}

void profiler_close(struct profiler *p)
{
	if (!p)
		return;
	model_free(p->model);
	timing_free(p->timing);
	messages_fini(p);
	close_waits(p);
	place_table_fini(p);
	for (size_t i = 0; i < p->nworkers; i++)
		free(p->workers[i].pending);
	free(p->workers);
	free(p->inside);
	profile_free(p->profile);
	free(p);
}

static int open_profiler(struct trace *trace, const struct profile_select *select,
			 const struct profile_extras *more, struct profiler **ret_profiler)
{
	static const struct profile_select all;
	struct profiler *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return log_err(-ENOMEM, "profile");
	p->trace = trace;
	p->select = select ? select : &all;
	p->more = more;
	err = prepare_profiler(p);
	if (err)
		profiler_close(p);
	else
		*ret_profiler = p;
	return err;
}

static const struct profile_extras nothing;

int profiler_open(struct trace *trace, const struct profile_select *select,
		  struct profiler **ret_profiler)
{
	return open_profiler(trace, select, &nothing, ret_profiler);
}

/* Phases */

static bool is_phase(const struct profiler *p, const char *name)
{
	for (size_t i = 0; i < p->select->nphases; i++)
		if (!strcmp(p->select->phases[i], name))
			return true;
	return false;
}

static int64_t clip_time(const struct profiler *p, int64_t time)
{
	const struct profile *profile = p->profile;

	return time < profile->from ? profile->from : time > profile->to ? profile->to : time;
}

static void enter_phase(struct profiler *p, struct process_phase *inside, int64_t time)
{
	if (inside->depth++)
		return;
	inside->since = time;
	if (!p->in_phase++)
		p->phase_since = time;
}

static void leave_phase(struct profiler *p, struct process_phase *inside, int64_t time)
{
	if (!inside->depth || --inside->depth)
		return;
	if (!--p->in_phase)
		profiler_add(&p->profile->duration,
			     clip_time(p, time) - clip_time(p, p->phase_since));
}

static void mark_phase(struct profiler *p, const struct trace_event *event)
{
	struct process_phase *inside = &p->inside[event->process < p->ninside ? event->process : 0];

	if (p->select->process && event->process != p->select->process)
		return;
	if (!is_phase(p, event->mark->text))
		return;
	if (event->mark->kind == TRACE_MARK_BEGIN)
		enter_phase(p, inside, event->time);
	else if (event->mark->kind == TRACE_MARK_END)
		leave_phase(p, inside, event->time);
}

/* A process that has ended is in no phase. */
static void end_phases(struct profiler *p, uint32_t process, int64_t time)
{
	struct process_phase *inside = &p->inside[process < p->ninside ? process : 0];

	if (inside->depth) {
		inside->depth = 1;
		leave_phase(p, inside, time);
	}
}

/* Does an event of @process at @time belong to the requested part? */
static bool is_in_part(const struct profiler *p, uint32_t process, int64_t time)
{
	const struct profile_select *select = p->select;

	if (!p->profile->partial)
		return true;
	if (time < p->profile->from || time >= p->profile->to ||
	    (select->process && process != select->process))
		return false;
	return !select->nphases || (process < p->ninside && p->inside[process].depth);
}

static bool is_wanted(const struct profiler *p, const struct trace_event *event)
{
	return !event->inner && !event->carried && is_in_part(p, event->process, event->time);
}

/*
 * Count the waits for the recorder that began before @time, if their process was then in the part.
 */
static int count_waits(struct profiler *p, int64_t time)
{
	int err = 0;

	while (!err && p->next_wait.time <= time) {
		if (is_in_part(p, p->next_wait.process, p->next_wait.time))
			count_wait(p, &p->next_wait);
		err = next_wait_row(p);
	}
	return err;
}

/* Events */

static bool is_counted(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return !event->call->ours && !event->call->depth;
	case TRACE_POST:
	case TRACE_POLL:
	case TRACE_NOTIFY:
		return true;
	default:
		return false;
	}
}

static void note_time(struct profiler *p, const struct trace_event *event)
{
	struct profile *profile = p->profile;
	struct profile_process *process = rows_process(p, event->process);

	profile->nverbs++;
	if (profile->first < 0)
		profile->first = event->time;
	profile->last = event->time;
	if (!process)
		return;
	if (process->first < 0)
		process->first = event->time;
	process->last = event->time;
}

static void count_event(struct profiler *p, const struct trace_event *event)
{
	note_time(p, event);
	if (event->kind == TRACE_CALL)
		calls_count(p, event);
	else if (event->kind == TRACE_POLL)
		data_count_poll(p, event);
	else if (event->kind == TRACE_NOTIFY)
		data_count_notify(p, event);
}

static int process_event(struct profiler *p, const struct trace_event *event)
{
	if (p->timing && timing_note_event(p->timing, event))
		return -ENOMEM;
	p->now = event->time;
	if (event->time >= p->next_wait.time && count_waits(p, event->time))
		return log_err(-EIO, "table waited");
	if (event->kind == TRACE_MARK && p->select->nphases)
		mark_phase(p, event);
	if (event->kind == TRACE_CALL)
		calls_note_cq(p, event);
	p->counts = is_wanted(p, event);
	if (p->counts && is_counted(event))
		count_event(p, event);
	if (event->kind != TRACE_EXIT)
		return model_process_event(p->model, event);
	if (p->select->nphases)
		end_phases(p, event->process, event->time);
	return model_end(p->model, event->process, event->time, MODEL_UNKNOWN);
}

int profiler_process_event(struct profiler *p, const struct trace_event *event)
{
	int err = process_event(p, event);

	return !err && p->no_memory ? log_err(-ENOMEM, "profile") : err;
}

/* In a trace that is still being written, the last rows did not exist when the trace was opened. */
static int count_last_waits(struct profiler *p)
{
	int err = trace_is_live(p->trace) ? open_waits(p) : 0;

	return err ? err : count_waits(p, INT64_MAX - 1);
}

/* The duration of a part by time: its length, up to the end of the trace. */
static void finish_duration(struct profiler *p)
{
	struct profile *profile = p->profile;
	int64_t end = trace_totals(p->trace).duration;

	if (end < profile->last)
		end = profile->last;
	if (profile->to > end)
		profile->to = end;
	if (!p->select->nphases)
		profile->duration = profile->to > profile->from ? profile->to - profile->from : 0;
}

int profiler_finish(struct profiler *p)
{
	struct profile *profile = p->profile;
	int err = count_last_waits(p);

	if (err)
		return err;
	for (size_t i = 1; i < p->ninside; i++)
		end_phases(p, (uint32_t)i, p->now);
	data_finish(p);
	if (!p->select->from && !p->select->to && !p->select->nphases)
		err = count_empty(p);
	scale_profile(profile);
	finish_duration(p);
	for (size_t i = 0; i < profile->nobjects; i++)
		if (profile->queues[i] && rows_process(p, profile->queues[i]->process))
			rows_process(p, profile->queues[i]->process)->queues++;
	return err;
}

/* A profile that is still being made */

const struct profile *profiler_profile(const struct profiler *p)
{
	return p->profile;
}

int profiler_waits(struct profiler *p, struct profile_waited *ret_waited)
{
	return sum_waits(p, ret_waited);
}

const struct life *profiler_life(const struct profiler *p, const struct object *object)
{
	const struct life *life =
		model_life(p->model, object->process, object->kind, object->handle);

	return life && life->id == object->id && life->state <= LIFE_DYING ? life : NULL;
}

static int read_events(struct profiler *p)
{
	const struct trace_event *event;
	struct reader *reader;
	int err = reader_open(p->trace, &reader);

	if (err < 0)
		return err;
	while (!err && (err = reader_next(reader, &event)) == 1)
		err = profiler_process_event(p, event);
	reader_close(reader);
	return err < 0 ? err : 0;
}

int profile_trace_more(struct trace *trace, const struct profile_select *select,
		       const struct profile_extras *more, struct profile **ret_profile)
{
	struct profiler *p;
	int err = open_profiler(trace, select, more, &p);

	if (err)
		return err;
	err = read_events(p);
	if (!err)
		err = profiler_finish(p);
	if (!err) {
		*ret_profile = p->profile;
		p->profile = NULL;
	}
	if (!err && p->timing)
		*more->ret_timeline = timing_finish(p->timing);
	profiler_close(p);
	return err;
}

int profile_trace(struct trace *trace, const struct profile_select *select,
		  struct profile **ret_profile)
{
	return profile_trace_more(trace, select, &nothing, ret_profile);
}
