#pragma once
/*
 * What a step of the replay must wait for.
 *
 * Each recorded thread has a player, which plays its events in their order. A step may need one of
 * another player's before it: that is a wait. Steps are numbered in the order of the calls of
 * schedule_step(), and a wait names an earlier step: so there is always one that can go on.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "replay/schedule/order.h"
#include "replay/schedule/relations.h"

/* Step @seq of @player, or all steps up to it where that is EVERY_PLAYER. */
struct wait {
	uint32_t player;
	uint64_t seq;
};

enum { STEP_WAITS = 6, EVERY_PLAYER = 0 };

struct step {
	struct ordered event;
	uint64_t seq; /* from 1 */
	uint32_t player;
	uint32_t nwaits;
	struct wait waits[STEP_WAITS];
};

struct schedule;

struct scoring {
	bool contents; /* bytes are compared, so the order of what goes to memory matters */
	bool counts;   /* no post is missing, so that it can be counted which receives are taken */
};

/*
 * @nobjects: objects of the trace, and one. @players: recorded threads share so many, from 1 on.
 * Returns 0 or -ENOMEM.
 */
int schedule_new(const struct relations *relations, uint32_t nobjects, uint32_t players,
		 struct scoring how, struct schedule **ret_score);

/* Accepts NULL. */
void schedule_free(struct schedule *schedule);

/* The next of all events, which @relations have been told. */
void schedule_step(struct schedule *schedule, const struct ordered *event, struct step *ret_step);
