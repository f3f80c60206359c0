/*
 * THREAD: two threads at once
 *
 * The trace has the time when a data verb was called, and not when it returned. A call that begins
 * between the begin and the end of a destroy overlaps it for certain; one that was under way
 * before is not found.
 */
#include <stdio.h>

#include "analyzer/rules/judge.h"

static void say_race(struct finding *finding, const struct model_destroy *destroy)
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
	say_race(finding, destroy);
	finding_step(finding, "created", &object->created);
	finding_step(finding, "destroyed", &destroy->moment);
	finding_step(finding, "used", &object->met);
}
