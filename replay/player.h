#pragma once
/*
 * Players: threads that play the steps of a score, each those of one recorded thread.
 *
 * One thread gives the steps, in the order of their numbers. A player begins a step when all that
 * it waits for is done: it spins for a while, then it sleeps. It also ends a wait in which nothing
 * moved anywhere, in no player, for a long time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "replay/score.h"

struct players;

struct player_work {
	/* Returns 0; or -errno, which ends all players. */
	int (*play)(void *arg, const struct step *step);
	/* The step is done, or is not going to be. */
	void (*release)(void *arg, const struct step *step);
	/* Of what it waits for (a number of a step), nothing comes; it is played all the same. */
	void (*miss)(void *arg, const struct step *step, const struct wait *wait);
	void *arg;
	int64_t patience; /* ns until miss() */
};

/* @most: players, from 1 on. Returns 0 or -ENOMEM. */
int players_new(const struct player_work *work, uint32_t most, struct players **ret_players);

/* Its player is started with its first step. Returns 0, -errno, or what play() has returned. */
int players_give(struct players *players, const struct step *step);

/* Wait until all steps are played, or play() has failed. Returns 0 or what it returned. */
int players_end(struct players *players);

/* After players_end(), or before, if nobody needs the rest. Accepts NULL. */
void players_free(struct players *players);

/* For the player that calls it: is a step before its own not done yet? */
bool player_is_behind(void);

/* Sleep until it is not, or for a millisecond. */
void player_await_others(void);

/* The player that calls it waits for something outside, and so is not stuck. */
void player_waits(void);
