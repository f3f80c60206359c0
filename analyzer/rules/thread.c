/*
 * THREAD: two threads at once
 *
 * The trace has the time when a data verb was called, and not when it returned. A call that begins
 * between the begin and the end of a destroy overlaps it for certain; a data verb that was under
 * way before is not found. Of a control verb the return is known, too.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/rules/judge.h"

static void describe_race(struct finding *finding, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	char name[64], began[32], end[32], id[32], other[32];

	judge_name(object, name, sizeof(name));
	judge_span(object->met.time - destroy->moment.time, began);
	if (destroy->returned)
		snprintf(end, sizeof(end), "took %s",
			 judge_span(destroy->end - destroy->moment.time, other));
	else
		snprintf(end, sizeof(end), "never returned");
	finding_text(
		&finding->says,
		"Thread %u called %s() on %s at %s, %s after thread %u had begun %s(), which %s.",
		thread_number(object->met.id.thread), verb_infos[object->met.verb].name, name,
		event_id_text(object->met.id, id), began, thread_number(destroy->moment.id.thread),
		verb_infos[destroy->moment.verb].name, end);
}

/* THREAD-002. A destroy that failed has left the object as it was. */
void thread_002(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;

	if (!object->met.id.thread || (destroy->returned && destroy->failed))
		return;
	finding = judge_destroy(check, RULE_THREAD_002, destroy);
	if (!finding)
		return;
	describe_race(finding, destroy);
	finding_step(finding, "created", &object->created);
	finding_step(finding, "destroyed", &destroy->moment);
	finding_step(finding, "used", &object->met);
}

/* "and returned 2 ms later", "and never returned" */
static const char *end_text(const struct model_inside *inside, char text[96])
{
	char when[32];

	if (inside->returned >= 0)
		snprintf(text, 96, "and returned %s later",
			 judge_span(inside->returned - inside->destroy.time, when));
	else if (inside->ended < INT64_MAX)
		snprintf(text, 96, "and its thread ended within it, %s later",
			 judge_span(inside->ended - inside->destroy.time, when));
	else
		snprintf(text, 96, "and never returned");
	return text;
}

/* THREAD-002: the call had begun before the destroy. */
void thread_002_inside(struct check *check, const struct model_inside *inside)
{
	const struct life *object = &inside->object;
	const struct moment *call = &inside->call, *destroy = &inside->destroy;
	struct finding *finding =
		judge_add(check, RULE_THREAD_002, destroy, object, object_names[object->kind]);
	char name[64], id[32], since[32], end[96];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "Thread %u called %s() on %s while thread %u was inside %s(), %s, for %s: "
		     "the call was under way %s.",
		     thread_number(destroy->id.thread), verb_infos[destroy->verb].name,
		     judge_name(object, name, sizeof(name)), thread_number(call->id.thread),
		     verb_infos[call->verb].name, event_id_text(call->id, id),
		     judge_span(destroy->time - call->time, since), end_text(inside, end));
	finding_step(finding, "created", &object->created);
	finding_step(finding, "called", call);
	finding_step(finding, "destroyed", destroy);
}

/* THREAD-002: the process crashed soon after, and the call that did it left no event. */
void thread_002_crash(struct check *check, const struct model_crash *crash)
{
	const struct crash_thread *thread = crash->thread;
	const struct moment *last = &thread->last, *destroy = &thread->destroyed;
	char process[PROCESS_TEXT], end[32], before[32], id[32];
	struct finding *finding =
		judge_hazard(check, RULE_THREAD_002, destroy, NULL, object_names[thread->kind]);

	if (!finding)
		return;
	finding_text(&finding->object, "%s", thread->name);
	finding_text(&finding->says,
		     "%s was killed by SIG%s %s after thread %u had called %s() on %s. The last "
		     "verb of thread %u, %s before that, is %s() on it (%s), and it had not ended.",
		     process_id_text(destroy->process, process), sigabbrev_np(crash->signal),
		     judge_span(crash->end - destroy->time, end), thread_number(destroy->id.thread),
		     verb_infos[destroy->verb].name, thread->name, thread_number(last->id.thread),
		     judge_span(destroy->time - last->time, before), verb_infos[last->verb].name,
		     event_id_text(last->id, id));
	if (finding->says && finding->says[0] == 'p')
		finding->says[0] = 'P';
	finding_text(&finding->breaks,
		     "thread %u was still using %s: a call that crashes is not in the trace, but "
		     "its stack is in the core dump",
		     thread_number(last->id.thread), thread->name);
	finding_step(finding, "created", &thread->created);
	finding_step(finding, "used", last);
	finding_step(finding, "destroyed", destroy);
}
