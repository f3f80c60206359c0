/*
 * The nodes of the wait-for graph: processes, and sets of threads
 *
 *	0 .. base - 1	processes; or the first set of a process whose threads are distinguished
 *	base ..		the other sets
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/stalls_priv.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"

/* Nodes */

uint32_t stalls_node_of(const struct stalls *stalls, uint32_t process, uint32_t set)
{
	const struct stalls_work *work = stalls->work;

	if (process >= work->base || !stalls->all[process].set || stalls->all[process].set == set)
		return process < work->base ? process : 0;
	return set < work->npart_of && work->part_of[set] ? work->base + work->part_of[set] - 1 : 0;
}

uint32_t stalls_thread(const struct stalls *stalls, uint32_t node)
{
	const struct stall *stall = &stalls->all[node];

	return stall->set ? stall->last.id.thread : 0;
}

int stalls_append_parts(struct stalls *stalls)
{
	struct stalls_work *work = stalls->work;
	size_t base = stalls->n > work->n ? stalls->n : work->n;

	work->base = (uint32_t)base;
	for (size_t i = 0; i < work->nparts; i++) {
		struct stall *stall = vec_at(stalls->all, stalls->n, base + i);
		struct stall_note *note = vec_at(work->notes, work->n, base + i);

		if (!stall || !note)
			return -1;
		*stall = work->parts[i].stall;
		*note = work->parts[i].note;
		work->parts[i].note.threads = (struct activity_note){ 0 };
	}
	return 0;
}

void stalls_find_nodes(struct stalls *stalls)
{
	const struct thread_sets *sets = stalls->work->sets;

	for (uint32_t i = 1; i < stalls->n; i++)
		for (size_t k = 0; k < stalls->all[i].n; k++) {
			struct stall_link *link = &stalls->links[stalls->all[i].first + k];

			link->node = i;
			link->thread = stalls_thread(stalls, i);
			link->there = stalls_node_of(stalls, link->to,
						     thread_sets_of_object(sets, link->other));
			link->their_thread = stalls_thread(stalls, link->there);
		}
}

/* Samples */

/* The last samples of the threads of processes. */
struct last_samples {
	struct stalls *stalls;
	size_t part;
	/* by node: time of its last poll; INT64_MAX: a thread still polls, or not known */
	int64_t *idle;
	bool *active; /* by node: a thread polls */
};

static int64_t time_of(const struct last_samples *sampled, int64_t time)
{
	struct trace *trace = sampled->stalls->work->trace;
	struct trace_clock clock;

	if (trace_nparts(trace) < 2)
		return time;
	clock = trace_clock(trace, sampled->part);
	return trace_clock_time(&clock, time);
}

static void note_sample(void *arg, const struct lookup_sample *sample)
{
	struct last_samples *sampled = arg;
	struct trace *trace = sampled->stalls->work->trace;
	struct event_id first = { sample->thread, 1 };
	uint32_t id = trace_whole_event(trace, sampled->part, first).thread;
	const struct thread *thread = trace_thread(trace, id);
	int64_t since = time_of(sampled, sample->time);
	struct stalls *stalls = sampled->stalls;
	struct stall *stall;
	uint32_t node;

	node = thread ? stalls_node_of(stalls, thread->process,
				       thread_sets_of_thread(stalls->work->sets, id))
		      : 0;
	if (!node || node >= stalls->n)
		return;
	stall = &stalls->all[node];
	if (!sample->doing || strcmp(sample->doing, "nothing") != 0 || since > stall->time) {
		sampled->active[node] = true;
		return;
	}
	if (since > sampled->idle[node])
		sampled->idle[node] = since;
	if (id != stall->last.id.thread || !sample->state)
		return;
	stall->seen = sample->state[0];
	stall->seen_since = since;
	snprintf(stall->wchan, sizeof(stall->wchan), "%s", sample->wchan ?: "");
}

int stalls_read_samples(struct stalls *stalls)
{
	struct trace *trace = stalls->work->trace;
	struct last_samples sampled = { .stalls = stalls };
	int err = 0;

	sampled.idle = calloc(stalls->n + 1, sizeof(*sampled.idle));
	sampled.active = calloc(stalls->n + 1, sizeof(*sampled.active));
	if (!sampled.idle || !sampled.active)
		err = -1;
	for (; !err && !trace_is_live(trace) && sampled.part < trace_nparts(trace); sampled.part++)
		lookup_last_samples(trace_part(trace, sampled.part), note_sample, &sampled);
	for (size_t i = 0; i < stalls->n && i < stalls->work->n && !err; i++)
		stalls->work->notes[i].idle =
			sampled.idle[i] && !sampled.active[i] &&
			stalls->all[i].time - sampled.idle[i] >= STALL_PATIENCE_NS;
	free(sampled.idle);
	free(sampled.active);
	return err;
}
