#pragma once
/*
 * The compiled trace: for each player a tape of the steps that it plays, ready to be played.
 *
 * Consecutive events of a trace are similar. A form is a step's contents without its number and
 * time: a post with its requests, a poll with its completions. A tape has the forms of its steps,
 * and for each step the differences from the last step of its form. Tapes are in memory up to a
 * limit, the rest is in an unnamed file.
 *
 * Written by one thread. Then each tape is read by one thread at a time, once.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "replay/schedule/schedule.h"

struct tapes;
struct tape;

/* A step, valid until the next one of the tape is read. */
struct ready_step {
	struct trace_event event;
	uint64_t seq;
	uint32_t player, nwaits;
	const struct wait *waits;
	/*
	 * Something differs from the last step of the form, other than event numbers (of the step,
	 * of its completions' posts), times and empty polls. The player clears it.
	 */
	bool changed;
	/* Data that the player caches with the form; freed with free(). NULL at first. */
	void *kept;
};

/* @players: their number, counted from 1. @memory: bytes before the file is used. 0 or -ENOMEM. */
int tapes_new(uint32_t players, size_t memory, struct tapes **ret_tapes);

/* Accepts NULL. */
void tapes_free(struct tapes *tapes);

/* Append @step to the tape of its player. 0 or -errno after log_err(). */
int tapes_put(struct tapes *tapes, const struct step *step);

/* Call it after the last step. */
void tapes_end(struct tapes *tapes);

/* The time of the latest event, and the number of steps and bytes until now. */
int64_t tapes_time(const struct tapes *tapes);
uint64_t tapes_steps(const struct tapes *tapes);
size_t tapes_bytes(const struct tapes *tapes);

/* The number of bytes of tapes that are in memory. */
size_t tapes_memory(const struct tapes *tapes);

/* The tape of @player, or NULL: it has no step. */
struct tape *tapes_of(struct tapes *tapes, uint32_t player);

/* The number of the last step of the tape. */
uint64_t tape_last(const struct tape *tape);

/* The next step: 1, 0 at the end, or -errno after log_err(). */
int tape_next(struct tape *tape, struct ready_step **ret_ready);
