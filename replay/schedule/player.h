#pragma once
/*
 * Players: threads that play the steps of a compiled trace, each the steps of one recorded thread.
 *
 * A player begins a step when all steps that it waits for are done: it spins for a while, then it
 * sleeps. It gives up a wait if no player has made progress for a long time.
 */
#include <stdbool.h>
#include <stdint.h>

#include "replay/schedule/bytecode.h"

struct player_work {
	/* Returns 0; or -errno, which ends all players. */
	int (*play)(void *arg, struct ready_step *step);
	/* Called if @wait of @step is not done in time; @step is played nevertheless. */
	void (*miss)(void *arg, const struct ready_step *step, const struct wait *wait);
	/* Called when the player waits for a step of another player, or has ended. */
	void (*rest)(void *arg);
	void *arg;
	int64_t patience; /* ns until miss() */
};

/*
 * Play the @bytecode of players 1 to @most, until all steps are played or play() has failed.
 * Returns 0, what play() returned, or -errno after log_err().
 */
int players_run(const struct player_work *work, struct bytecode *bytecode, uint32_t most);

/* Is a step of another player that precedes the calling player's step not done yet? */
bool player_is_late(void);

/*
 * player_sleep(): sleep until the calling player is not behind, but at most a millisecond;
 * player_await_others(): spin for a while first.
 */
void player_sleep(void);
void player_await_others(void);

/* The calling player is about to wait: publish its progress, since others may wait for it. */
void player_report_step(void);

/* The calling player waits for something outside of the replay, so it is not stuck. */
void player_note_wait(void);
