/*
 * Telling the watcher of a model
 */
#include "analyzer/model/watcher.h"

#include <string.h>

#include "analyzer/model/handles.h"

void watcher_use(const struct model_watcher *watcher, const struct trace_event *event,
		 enum verb verb, const struct life *object, const char *path, unsigned int index)
{
	struct model_use use = {
		.event = event, .object = object, .verb = verb, .path = path, .index = index
	};
	const char *self = handles_self(verb);

	if (!object)
		return;
	use.destroys = verb_infos[verb].effect == EFFECT_DESTROY && self && !strcmp(self, path);
	watcher->use(watcher->arg, &use);
}
