#pragma once
/*
 * Players: threads that play the steps of a compiled trace, each those of one recorded thread.
 *
 * A player begins a step when all that it waits for is done: it spins for a while, then it sleeps.
 * It also ends a wait in which nothing moved anywhere, in no player, for a long time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "replay/schedule/tape.h"

struct player_work {
	/* Returns 0; or -errno, which ends all players. */
	int (*play)(void *arg, struct ready *step);
	/* Of what it waits for (a number of a step), nothing comes; it is played all the same. */
	void (*miss)(void *arg, const struct ready *step, const struct wait *wait);
	/* The player waits for another one's step, or has ended. */
	void (*rest)(void *arg);
	void *arg;
	int64_t patience; /* ns until miss() */
};

/*
 * Play the @tapes of players 1 to @most, until all steps are played or play() has failed.
 * Returns 0, what play() returned, or -errno after log_err().
 */
int players_run(const struct player_work *work, struct tapes *tapes, uint32_t most);

/* For the player that calls it: is a step before its own not done yet? */
bool player_is_behind(void);

/* Sleep until it is not, or for a millisecond; the second tries for a while before. */
void player_sleep(void);
void player_await_others(void);

/* The player that calls it will wait: tell the others how far it is. They may wait for it. */
void player_tell(void);

/* The player that calls it waits for something outside, and so is not stuck. */
void player_waits(void);
