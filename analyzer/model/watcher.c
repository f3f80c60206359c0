/*
 * Calls the watcher of a model
 */
#include "analyzer/model/watcher.h"

#include <string.h>

#include "analyzer/model/handles.h"

#define EACH_FACT(X)     \
	X(use)           \
	X(destroy)       \
	X(leak)          \
	X(key)           \
	X(modify)        \
	X(invalid_post)  \
	X(queue_problem) \
	X(astray)        \
	X(unreached)     \
	X(wait)          \
	X(batch)         \
	X(misuse)        \
	X(inside)        \
	X(crash)         \
	X(device)        \
	X(foreign)

/* clang-format off */
#define NOTHING(fact)                                                                            \
	static void ignore_##fact(void *arg, const struct model_##fact *what)                    \
	{                                                                                        \
		(void)arg, (void)what;                                                           \
	}
EACH_FACT(NOTHING)
/* clang-format on */

static void ignore_end(void *arg, const struct model_exit *end)
{
	(void)arg, (void)end;
}

#define ONE(fact) +1
_Static_assert(sizeof(struct model_watcher) == (0 EACH_FACT(ONE) + 10) * sizeof(void *),
	       "EACH_FACT has all functions but end and those that may be NULL; two more members");

void watcher_fill(struct model_watcher *watcher)
{
#define FILL(fact)          \
	if (!watcher->fact) \
		watcher->fact = ignore_##fact;
	EACH_FACT(FILL)
	if (!watcher->end)
		watcher->end = ignore_end;
}

/*
 * Note the first event of another thread that began while the object was being destroyed. An
 * acknowledgement does not count: some destroys wait for it.
 */
static void note_race(struct life *object, const struct trace_event *event, enum verb verb)
{
	if (event->id.thread == object->ending.id.thread || object->met.id.thread ||
	    event->time <= object->ending.time || verb_infos[verb].effect == EFFECT_ACK)
		return;
	object->met = moment_of(event);
	object->met.verb = verb;
	object->met.time = event->time;
}

void watcher_report_use(const struct model_watcher *watcher, const struct trace_event *event,
			enum verb verb, struct life *object, const char *path, unsigned int index)
{
	struct model_use use = {
		.event = event, .object = object, .verb = verb, .path = path, .index = index
	};
	enum arg self = handles_find_acted_on(verb);

	if (object->state == LIFE_DYING)
		note_race(object, event, verb);
	use.destroys =
		verb_infos[verb].effect == EFFECT_DESTROY && self && !strcmp(arg_path(self), path);
	watcher->use(watcher->arg, &use);
}
