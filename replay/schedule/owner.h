#pragma once
/*
 * Which player has a queue for itself, in all of a trace.
 *
 * Used by one thread.
 */
#include <stdint.h>

#include "replay/schedule/relations.h"

struct owners;

enum { OWNER_NONE = 0, OWNER_SHARED = UINT32_MAX };

/* @nobjects: of the trace, and one. 0 or -ENOMEM. */
int owners_new(uint32_t nobjects, struct owners **ret_owners);

/* Accepts NULL. */
void owners_free(struct owners *owners);

/* @player does @event. */
void owners_note(struct owners *owners, const struct trace_event *event, uint32_t player);

/*
 * Of a CQ who polls it; of a queue pair who posts to it, if the same one polls its CQs. After all
 * events.
 */
uint32_t owner_of(const struct owners *owners, const struct relations *relations, uint32_t object);
