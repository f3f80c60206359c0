#pragma once
/*
 * The compiled trace: for each player the code of the steps that it plays.
 *
 * Consecutive events of a trace are similar. A shape is a step's contents without its number and
 * time: a post with its requests, a poll with its completions. The code of a player has the shapes
 * of its steps, and for each step the differences from the last step of its shape. The bytecode is
 * in memory up to a limit, the rest is in an unnamed file.
 *
 * Written by one thread. Then the code of each player is read once, by one thread at a time.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "replay/schedule/schedule.h"

struct bytecode;
struct player_code;

/* A step, valid until the next one of the code is read. */
struct ready_step {
	struct trace_event event;
	uint64_t seq;
	uint32_t player, nwaits;
	const struct wait *waits;
	/*
	 * Something differs from the last step of the shape, other than event numbers (of the step,
	 * of its completions' posts), times and empty polls. The player clears it.
	 */
	bool changed;
	/* Data that the player caches with the shape; freed with free(). NULL at first. */
	void *kept;
};

/* @players: their number, counted from 1. @memory: bytes before the file is used. 0 or -ENOMEM. */
int bytecode_new(uint32_t players, size_t memory, struct bytecode **ret_bytecode);

/* Accepts NULL. */
void bytecode_free(struct bytecode *bytecode);

/* Append @step to the code of its player. 0 or -errno after log_err(). */
int bytecode_put_step(struct bytecode *bytecode, const struct step *step);

/* Call it after the last step. */
void bytecode_end(struct bytecode *bytecode);

/* The time of the latest event, and the number of steps and bytes until now. */
int64_t bytecode_time(const struct bytecode *bytecode);
uint64_t bytecode_count_steps(const struct bytecode *bytecode);
size_t bytecode_bytes(const struct bytecode *bytecode);

/* The number of bytes of bytecode that are in memory. */
size_t bytecode_memory(const struct bytecode *bytecode);

/* The code of @player, or NULL: it has no step. */
struct player_code *bytecode_of_player(struct bytecode *bytecode, uint32_t player);

/* The number of the last step of the code. */
uint64_t player_code_last_step(const struct player_code *code);

/* The next step: 1, 0 at the end, or -errno after log_err(). */
int player_code_next(struct player_code *code, struct ready_step **ret_ready);
