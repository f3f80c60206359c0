/*
 * COMPL: completions and events
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/judge.h"

static const char *owed(const struct life *object, char *text, size_t size)
{
	if (object->events && object->async_events)
		snprintf(text, size, "%" PRIu64 " completion and %" PRIu64 " asynchronous events",
			 object->events, object->async_events);
	else if (object->events)
		snprintf(text, size, "%" PRIu64 " completion event%s", object->events,
			 object->events == 1 ? "" : "s");
	else
		snprintf(text, size, "%" PRIu64 " asynchronous event%s", object->async_events,
			 object->async_events == 1 ? "" : "s");
	return text;
}

static void say_owed(struct finding *finding, const struct model_destroy *destroy)
{
	const char *verb = verb_infos[destroy->mark.verb].name;
	char events[96], when[32], name[64];

	owed(destroy->object, events, sizeof(events));
	judge_name(destroy->object, name, sizeof(name));
	judge_span(destroy->end - destroy->mark.time, when);
	if (destroy->returned)
		finding_text(&finding->says,
			     "%s of %s had been got and not acknowledged when %s() destroyed it; "
			     "this device let it pass, others wait for ever.",
			     events, name, verb);
	else
		finding_text(
			&finding->says,
			"%s of %s had been got and not acknowledged: %s() waited for that, and "
			"had not returned %s later, when the process ended.",
			events, name, verb, when);
}

/*
 * COMPL-003. A destroy that returned had its events acknowledged by another
 * thread meanwhile, which is allowed: what counts is what is owed at its end.
 */
void compl_003(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;

	if ((destroy->returned && destroy->failed) || !(object->events || object->async_events))
		return;
	finding = judge_destroy(check, RULE_COMPL_003, destroy);
	if (!finding)
		return;
	say_owed(finding, destroy);
	finding_step(finding, "created", &object->created);
	if (object->got.id.thread)
		finding_step(finding, "last event got", &object->got);
	finding_step(finding, "destroyed", &destroy->mark);
}
