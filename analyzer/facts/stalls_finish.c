/*
 * At the end of the trace: which processes wait, and who is to blame
 *
 * A process waits if it looks at the CQ of what is outstanding: it polls that, sleeps until it gets
 * its event, or has asked for the event and waits elsewhere, in poll(2) or the like. One that does
 * not look is not waiting, whatever is outstanding.
 *
 * A program outside of a job may be idle: only its sends count, not receives for which nothing
 * comes. A rank that has ended with success counts only if nobody else is to blame.
 */
#include "analyzer/facts/stalls_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"

enum { WAIT_POLLS = 3 /* empty polls: fewer are not a wait */, MOMENT_NS = 50000000 };

/* Samples */

/* The last samples of the threads of processes. */
struct sampled {
	struct stalls *stalls;
	size_t part;
	int64_t *idle; /* by process: no thread has polled since; INT64_MAX: one does, or unknown */
	bool *active;  /* by process: one does */
};

static int64_t time_of(const struct sampled *sampled, int64_t time)
{
	struct trace *trace = sampled->stalls->work->trace;
	struct trace_clock clock;

	if (trace_nparts(trace) < 2)
		return time;
	clock = trace_clock(trace, sampled->part);
	return trace_clock_time(&clock, time);
}

static void see_sample(void *arg, const struct lookup_sample *sample)
{
	struct sampled *sampled = arg;
	struct trace *trace = sampled->stalls->work->trace;
	struct event_id first = { sample->thread, 1 };
	uint32_t id = trace_whole_event(trace, sampled->part, first).thread;
	const struct thread *thread = trace_thread(trace, id);
	int64_t since = time_of(sampled, sample->time);
	struct stall *stall;

	if (!thread || thread->process >= sampled->stalls->n)
		return;
	stall = &sampled->stalls->all[thread->process];
	if (!sample->doing || strcmp(sample->doing, "nothing") != 0 || since > stall->time) {
		sampled->active[thread->process] = true;
		return;
	}
	if (since > sampled->idle[thread->process])
		sampled->idle[thread->process] = since;
	if (id != stall->last.id.thread || !sample->state)
		return;
	stall->seen = sample->state[0];
	stall->seen_since = since;
	snprintf(stall->wchan, sizeof(stall->wchan), "%s", sample->wchan ?: "");
}

/* What the samples show of each process; their polls do not count if they ended long before. */
static int read_samples(struct stalls *stalls)
{
	struct trace *trace = stalls->work->trace;
	struct sampled sampled = { .stalls = stalls };
	int err = 0;

	sampled.idle = calloc(stalls->n + 1, sizeof(*sampled.idle));
	sampled.active = calloc(stalls->n + 1, sizeof(*sampled.active));
	if (!sampled.idle || !sampled.active)
		err = -1;
	for (; !err && !trace_is_live(trace) && sampled.part < trace_nparts(trace); sampled.part++)
		lookup_last_samples(trace_part(trace, sampled.part), see_sample, &sampled);
	for (size_t i = 0; i < stalls->n && i < stalls->work->n && !err; i++)
		stalls->work->notes[i].idle =
			sampled.idle[i] && !sampled.active[i] &&
			stalls->all[i].time - sampled.idle[i] >= STALL_PATIENCE_NS;
	free(sampled.idle);
	free(sampled.active);
	return err;
}

static bool is_stopped(const struct stall *stall)
{
	return stall->seen == 'T' || stall->seen == 't';
}

/* The polls of a process. */
struct looking {
	struct stalls *stalls;
	const struct stall *stall;
	uint64_t empty, most; /* polls; of one CQ */
	uint32_t cq;          /* that one */
	bool idle;            /* it had polled for the last time long before */
};

static void see_polls(void *arg, uint32_t thread, uint32_t cq, uint64_t empty)
{
	struct looking *looking = arg;

	(void)thread;
	if (looking->idle)
		return;
	looking->empty += empty;
	if (empty > looking->most) {
		looking->most = empty;
		looking->cq = cq;
	}
	for (size_t i = 0; i < looking->stall->n; i++) {
		struct stall_link *link = &looking->stalls->links[looking->stall->first + i];

		link->watched |= link->cq == cq;
	}
}

static bool is_firm(const struct stall_link *link)
{
	return link->why != STALL_MESSAGE;
}

/* Does a thread poll or wait for the CQ of one of its links? */
static bool is_watched(struct looking *looking, const struct stall_note *note)
{
	bool watched = false;

	for (size_t i = 0; i < looking->stall->n; i++) {
		struct stall_link *link = &looking->stalls->links[looking->stall->first + i];

		link->watched |= link->armed ||
				 (link->channel && activity_sleeps(&note->threads, link->channel));
		/* a CQ with an unpolled completion is no longer watched */
		link->watched &= !note->unpolled || link->cq != note->unpolled_cq;
		watched |= link->watched;
	}
	return watched;
}

static bool has_firm(const struct stalls *stalls, const struct stall *stall)
{
	for (size_t i = 0; i < stall->n; i++)
		if (stall_links(stalls, stall)[i].watched &&
		    is_firm(&stall_links(stalls, stall)[i]))
			return true;
	return false;
}

/* A call that did not return, of another list of facts. */
static const struct fact *find_hung(const struct fact_list *facts, uint32_t process)
{
	for (size_t i = 0; i < facts->n; i++) {
		const struct fact *fact = &facts->all[i];

		for (size_t k = 0; fact->kind == FACT_HUNG && k < fact->nin; k++)
			if (fact->in[k] == process)
				return fact;
	}
	return NULL;
}

static void name_cq(const struct stalls *stalls, struct stall *stall, uint32_t cq)
{
	const struct object *object = trace_object(stalls->work->trace, cq);

	if (object && object->name)
		snprintf(stall->object, sizeof(stall->object), "%s", object->name);
}

/* The process called no verb for long, not even an empty poll. */
static bool is_silent(const struct stall *stall, const struct stall_note *note,
		      const struct looking *looking)
{
	return looking->empty < WAIT_POLLS && !activity_sleeps(&note->threads, 0) &&
	       stall->time - stall->last.time >= stall_patience(stall);
}

static enum stall_state find_state(struct stalls *stalls, struct stall *stall,
				   const struct stall_note *note, const struct fact_list *facts)
{
	struct looking looking = { .stalls = stalls, .stall = stall, .idle = note->idle };
	bool known =
		activity_each_empty(stalls->work->activity, &note->threads, see_polls, &looking);
	bool watched = is_watched(&looking, note);
	const struct fact *hung = find_hung(facts, stall->process);

	if (is_stopped(stall))
		return STALL_STOPPED;
	if (note->misled)
		return STALL_MISLED;
	if (hung) {
		stall->hung = hung->event;
		stall->what = hung->what;
		stall->since = hung->time;
		return STALL_HUNG;
	}
	if (watched && (!note->full || has_firm(stalls, stall)))
		return STALL_WAITS;
	if (note->full)
		return STALL_FULL;
	if (note->unpolled)
		return known && is_silent(stall, note, &looking) ? STALL_QUIET : STALL_UNPOLLED;
	if (note->unknown || !known)
		return STALL_UNKNOWN;
	if (stall->time - stall->quiet < stall_patience(stall))
		return STALL_BUSY;
	if (looking.empty >= WAIT_POLLS) {
		stall->count = looking.most;
		name_cq(stalls, stall, looking.cq);
		return stall->n ? STALL_IGNORES : STALL_BARREN;
	}
	return stall->time - stall->last.time >= stall_patience(stall) ? STALL_QUIET : STALL_BUSY;
}

static void judge_process(struct stalls *stalls, uint32_t process, const struct fact_list *facts)
{
	struct stall *stall = &stalls->all[process];
	struct stall_note *note = &stalls->work->notes[process];

	if (!stall->process)
		return;
	stalls->processes++;
	stall->state = stall->well ? STALL_WELL : find_state(stalls, stall, note, facts);
	if (stall->state == STALL_IGNORES) {
		stall->qp = stall_links(stalls, stall)->qp;
		snprintf(stall->object, sizeof(stall->object), "%s", note->cq);
	}
	activity_drop(&note->threads);
}

/* The graph */

static bool is_rank(const struct stalls *stalls, uint32_t process)
{
	const struct process *p = trace_process(stalls->work->trace, process);

	return p && p->rank.rank >= 0;
}

static bool is_waiting(const struct stalls *stalls, uint32_t process)
{
	enum stall_state state = stalls->all[process].state;

	return stalls->all[process].process && (state == STALL_WAITS || state == STALL_UNKNOWN);
}

/* @well: receives from those that have ended with success count, too. */
static bool is_used(const struct stalls *stalls, const struct stall_link *link, bool well)
{
	if (!link->watched || link->to >= stalls->n || !stalls->all[link->to].process)
		return false;
	if (is_firm(link))
		return true;
	return is_rank(stalls, link->process) && is_rank(stalls, link->to) &&
	       (well || !stalls->all[link->to].well);
}

static int make_graph(struct stalls *stalls, bool *waits, struct wait_link *links, bool well)
{
	size_t n = 0;

	for (size_t i = 0; i < stalls->nlinks; i++) {
		struct stall_link *link = &stalls->links[i];

		link->used = is_used(stalls, link, well);
		if (link->used)
			links[n++] = (struct wait_link){ .from = link->process,
							 .to = link->to,
							 .firm = is_firm(link),
							 .received = link->received };
	}
	for (uint32_t i = 0; i < stalls->n; i++)
		waits[i] = is_waiting(stalls, i);
	return wait_graph_make(waits, stalls->n, links, n, &stalls->graph);
}

static int find_blames(struct stalls *stalls)
{
	struct wait_link *links = calloc(stalls->nlinks + 1, sizeof(*links));
	bool *waits = calloc(stalls->n + 1, sizeof(*waits));
	int err = links && waits ? make_graph(stalls, waits, links, false) : -1;

	if (!err && !stalls->graph.nblames) {
		wait_graph_fini(&stalls->graph);
		err = make_graph(stalls, waits, links, true);
	}
	free(links);
	free(waits);
	return err;
}

/* A launcher kills all processes at once; a process that was active until then is not to blame. */
static int64_t margin_of(const struct stall *stall)
{
	return stall->state == STALL_BUSY ? MOMENT_NS : STALL_PATIENCE_NS;
}

/* A process that had ended long before the processes that wait for it. */
static void find_dead(struct stalls *stalls)
{
	for (size_t i = 0; i < stalls->nlinks; i++) {
		const struct stall_link *link = &stalls->links[i];
		const struct stall *from = &stalls->all[link->process];
		struct stall *to = link->used ? &stalls->all[link->to] : NULL;

		if (to && to->ended && !to->well && to->state != STALL_WAITS &&
		    from->state == STALL_WAITS && to->time <= from->time - margin_of(to))
			to->state = STALL_ENDED;
	}
}

void stalls_finish(struct stalls *stalls, const struct fact_list *facts)
{
	if (read_samples(stalls)) {
		stalls->err = true;
		return;
	}
	for (uint32_t i = 1; i < stalls->n && i < stalls->work->n; i++)
		judge_process(stalls, i, facts);
	if (stalls->err || find_blames(stalls)) {
		stalls->err = true;
		return;
	}
	find_dead(stalls);
	for (uint32_t i = 1; i < stalls->n; i++)
		stalls->waiting += stalls->graph.nblames && stalls->graph.blamed[i] &&
				   stalls->all[i].state == STALL_WAITS;
}

const struct stall_link *stalls_link_from(const struct stalls *stalls, uint32_t process,
					  uint32_t to)
{
	return stalls_link_to(stalls, &(struct wait_blame){ .nodes = &to, .n = 1 }, process);
}

const struct stall_link *stalls_link_to(const struct stalls *stalls, const struct wait_blame *blame,
					uint32_t process)
{
	const struct stall *stall = &stalls->all[process];
	const struct stall_link *found = NULL;

	for (size_t i = 0; i < stall->n; i++) {
		const struct stall_link *link = &stall_links(stalls, stall)[i];

		if (link->used && wait_blame_has(blame, link->to) &&
		    (!found || (is_firm(link) && !is_firm(found))))
			found = link;
	}
	return found;
}
