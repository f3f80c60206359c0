/*
 * LIFE-001 and THREAD-002 by the counts of empty polls, which are not events
 *
 *	thread 2   poll poll poll poll poll poll poll
 *	thread 1		    destroy
 *	counts	   |--- one life ---|-- the next --|
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/crash.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"

struct counts {
	struct check *check;
	const struct model_exit *end;
	struct lookup_count before;
};

/* The destroyed CQ of @count, if it is the last one at that address; NULL. */
static const struct life *find_cq(const struct counts *counts, const struct lookup_count *count)
{
	struct trace *trace = counts->check->trace;
	const struct trace_clock clock =
		trace_clock(trace, trace_part_of(trace, counts->end->process));
	const struct life *cq =
		model_life(counts->check->model, counts->end->process, OBJECT_cq, count->cq);

	return cq && cq->state == LIFE_GONE && !cq->inherited &&
			       cq->destroyed.time <= trace_clock_time(&clock, count->last)
		       ? cq
		       : NULL;
}

static uint32_t thread_in_joint(const struct counts *counts, uint32_t thread)
{
	struct trace *trace = counts->check->trace;

	return trace_whole_event(trace, trace_part_of(trace, counts->end->process),
				 (struct event_id){ thread, 0 })
		.thread;
}

static void each_count(struct check *check, const struct model_exit *end,
		       void (*each)(void *arg, const struct lookup_count *count))
{
	struct counts counts = { .check = check, .end = end };
	size_t part = trace_part_of(check->trace, end->process);

	lookup_counts(trace_part(check->trace, part),
		      trace_part_process(check->trace, end->process), LOOKUP_BY_LIFE, each,
		      &counts);
}

/* Report two or more: one poll may have been in progress when the CQ was destroyed, but not two. */
static void report_stale(void *arg, const struct lookup_count *count)
{
	struct counts *counts = arg;
	const struct lookup_count before = counts->before;
	char name[64], polls[WORDS_COUNT];
	struct finding *finding;
	const struct life *cq;

	counts->before = *count;
	if (before.thread != count->thread || before.cq != count->cq ||
	    before.life + 1 != count->life || count->polls || count->empty < 2)
		return;
	cq = find_cq(counts, &before);
	finding = cq ? check_add_finding(counts->check, RULE_LIFE_001, &cq->destroyed, cq, "cq")
		     : NULL;
	if (!finding)
		return;
	finding_text(&finding->says,
		     "Thread %u polled %s %s after %s() had returned, and found nothing.",
		     thread_number(thread_in_joint(counts, count->thread)),
		     object_name_text(cq, name, sizeof(name)),
		     words_format_count(count->empty, "time", polls),
		     verb_infos[cq->destroyed.verb].name);
	finding_step(finding, "created", &cq->created);
	finding_step(finding, "destroyed", &cq->destroyed);
}

/* LIFE-001. Not if calls bypassed the verbs: later CQs may then be missing from the trace. */
void life_001_polls(struct check *check, const struct model_exit *end)
{
	if (!check->findings->bypassed)
		each_count(check, end, report_stale);
}

/* Does a thread do nothing but poll? Threads that have just found a completion are in crash.c. */
static bool does_only_poll(const struct counts *counts, uint32_t thread, const struct life *cq)
{
	const struct model *model = counts->check->model;
	const struct last_verb *last = last_verb_of_thread(model, thread);

	return thread != cq->destroyed.id.thread && !crash_find_thread(model, thread) &&
	       (!last || last_verb_kind(last) == OBJECT_cq);
}

static void report_crash(void *arg, const struct lookup_count *count)
{
	struct counts *counts = arg;
	struct check *check = counts->check;
	const struct life *cq = find_cq(counts, count);
	uint32_t thread = thread_in_joint(counts, count->thread);
	char process[PROCESS_TEXT], when[32], polls[WORDS_COUNT];
	struct finding *finding;

	if (!cq || !count->empty || counts->end->time > cq->destroyed.time + CRASH_SOON ||
	    !does_only_poll(counts, thread, cq) || crash_has_thread_ended(check->model, thread))
		return;
	finding = check_add_hazard(check, RULE_THREAD_002, &cq->destroyed, cq, "cq");
	if (!finding)
		return;
	finding_text(
		&finding->says,
		"%s was killed by SIG%s %s after thread %u had called %s() on %s, which thread %u "
		"polls: that thread had found the CQ empty %s, had done nothing else since, and "
		"had not ended.",
		process_id_text(counts->end->process, process),
		sigabbrev_np(crash_signal_of(check->model, counts->end->process)),
		words_format_span(counts->end->time - cq->destroyed.time, when),
		thread_number(cq->destroyed.id.thread), verb_infos[cq->destroyed.verb].name,
		cq->name, thread_number(thread), words_format_count(count->empty, "time", polls));
	if (finding->says && finding->says[0] == 'p')
		finding->says[0] = 'P';
	finding_text(&finding->breaks, "thread %u went on polling: its stack is in the core dump",
		     thread_number(thread));
	finding_step(finding, "created", &cq->created);
	finding_step(finding, "destroyed", &cq->destroyed);
}

/* THREAD-002: a poll that crashes is not counted. */
void thread_002_polls(struct check *check, const struct model_exit *end)
{
	if (end->how == MODEL_KILLED && crash_signal_of(check->model, end->process))
		each_count(check, end, report_crash);
}
