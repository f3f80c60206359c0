#pragma once
/*
 * The clock of a replay, and waiting by it.
 *
 * Any thread; the two hooks are set while there is only one.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * Monotonic clock, ns. For a thread that is behind (struct pace_sharing) it stands still, so that
 * a time-out begins when all is done that came before.
 */
int64_t pace_now(void);

/*
 * Wait briefly, longer with each of @turns, up to 50 us. Returns false after @deadline. Where the
 * state of the replay is shared, other threads may change it meanwhile: what is borrowed from it
 * must be looked up again.
 */
bool pace_wait(unsigned int *turns, int64_t deadline);

/* Is something that was recorded before not done yet? Never, where one thread replays. */
bool pace_is_behind(void);

void pace_sleep_until(int64_t due);

/* The replay is to end: nobody waits any longer. From any thread. */
void pace_end(void);
bool pace_has_ended(void);

/*
 * Nobody gives up while @moves(@arg) says so: another replay goes on, which what is waited for may
 * come from. NULL ends that.
 */
void pace_with(bool (*moves)(void *arg), void *arg);

/*
 * Call @tell(@arg) from time to time while one of the two waits, which a trace can make long; NULL
 * ends that.
 */
void pace_on_wait(void (*tell)(void *arg), void *arg);

/* How threads share the state of the replay. */
struct pace_sharing {
	bool (*leave)(void *arg); /* returns whether another thread waits to enter */
	void (*enter)(void *arg);
	bool (*is_behind)(void *arg);    /* something before it is not done yet */
	void (*await_others)(void *arg); /* a while, or until it is not behind */
	void (*note_sleep)(void *arg);   /* the thread sleeps until its time, and is not stuck */
	void *arg;
};

/* NULL: one thread has it. */
void pace_share(const struct pace_sharing *sharing);
