#pragma once
/*
 * The objects that an event uses, as far as they connect the players that use them: groups.h.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "replay/schedule/groups.h"
#include "replay/schedule/relations.h"

/* Does a verb concern only the players that use its object? */
bool uses_is_local(const struct call *call);

/* Note the objects that @event of @player uses. @relations already include the event. */
void uses_note(struct groups *groups, const struct relations *relations,
	       const struct trace_event *event, uint32_t player);
