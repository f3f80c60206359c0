#pragma once
/*
 * Finds queues that only one player uses, over the whole trace.
 *
 * Used by one thread.
 */
#include <stdint.h>

#include "replay/schedule/relations.h"

struct owners;

enum { OWNER_NONE = 0, OWNER_SHARED = UINT32_MAX };

/* @nobjects: the number of objects of the trace, plus one. 0 or -ENOMEM. */
int owners_new(uint32_t nobjects, struct owners **ret_owners);

/* Accepts NULL. */
void owners_free(struct owners *owners);

/* Note that @player plays @event. */
void owners_note(struct owners *owners, const struct trace_event *event, uint32_t player);

/*
 * The player that polls a CQ; the player that posts to a queue pair, if the same one polls its CQs.
 * Call it after all events.
 */
uint32_t owner_of(const struct owners *owners, const struct relations *relations, uint32_t object);
