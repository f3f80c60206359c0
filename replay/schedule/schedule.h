#pragma once
/*
 * What a step of the replay must wait for.
 *
 * Each recorded thread has a player, which plays its events in their order. A step may depend on a
 * step of another player: that is a wait. Steps are numbered in the order of the calls of
 * schedule_step(), and a wait names an earlier step, so there is always one that can proceed.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "replay/schedule/order.h"
#include "replay/schedule/relations.h"

/* Step @seq of @player; or, if @player is EVERY_PLAYER, all steps up to it. */
struct wait {
	uint32_t player;
	uint64_t seq;
};

enum { STEP_WAITS = 6, EVERY_PLAYER = 0 };

struct step {
	struct ordered_event event;
	uint64_t seq; /* from 1 */
	uint32_t player;
	uint32_t nwaits;
	struct wait waits[STEP_WAITS];
};

struct schedule;

struct schedule_options {
	bool contents; /* bytes are compared, so the order of writes to memory matters */
	bool counts;   /* no post is missing, so the receive of each message can be counted */
	bool groups;   /* threads that have no object in common need no order */
	/* Must the event wait for all earlier steps, regardless of its kind? May be NULL. */
	bool (*comes_after_all)(const void *arg, struct event_id event);
	const void *arg;
};

/*
 * @nobjects: objects of the trace, plus one. @players: number of players for the recorded threads,
 * counted from 1. Returns 0 or -ENOMEM.
 */
int schedule_new(const struct relations *relations, uint32_t nobjects, uint32_t players,
		 struct schedule_options how, struct schedule **ret_score);

/* Accepts NULL. */
void schedule_free(struct schedule *schedule);

/* Compute the step of the next event; the relations of schedule_new() already include it. */
void schedule_step(struct schedule *schedule, const struct ordered_event *event,
		   struct step *ret_step);
