#pragma once
/*
 * The clock of a replay, and waiting.
 *
 * Any thread; the two hooks are set while there is only one.
 */
#include <stdbool.h>
#include <stdint.h>

/*
 * Monotonic clock, ns. For a thread that is behind (struct pace_sharing) it stands still, so that a
 * time-out begins when all earlier events are done.
 */
int64_t pace_now(void);

/*
 * Wait briefly, and longer each time (*@turns counts), up to 50 us. False after @deadline. If the
 * state of the replay is shared, other threads may change it meanwhile: borrowed pointers must be
 * looked up again.
 */
bool pace_wait(unsigned int *turns, int64_t deadline);

/* Is an earlier recorded event not done yet? Never, if one thread replays. */
bool pace_is_behind(void);

void pace_sleep_until(int64_t due);

/*
 * The longest wait of pace_wait() in ns that ended before its deadline, in a replay by one thread;
 * waits that need no sleep are not counted.
 */
int64_t pace_longest_wait(void);

/* The replay must end: all waits stop. From any thread. */
void pace_end(void);
bool pace_has_ended(void);

/*
 * Time-outs do not run while @moves(@arg) returns true: another replay makes progress and may send
 * the awaited message. NULL: none.
 */
void pace_set_other(bool (*moves)(void *arg), void *arg);

/* Call @tell(@arg) from time to time during long waits of these functions; NULL: no call. */
void pace_on_wait(void (*tell)(void *arg), void *arg);

/* How threads share the state of the replay. */
struct pace_sharing {
	bool (*leave)(void *arg); /* returns whether another thread is waiting to enter */
	void (*enter)(void *arg);
	bool (*is_behind)(void *arg);    /* is an earlier event not done yet? */
	void (*await_others)(void *arg); /* wait a while, or until no longer behind */
	void (*note_sleep)(void *arg);   /* the thread sleeps until its event is due; not blocked */
	void *arg;
};

/* NULL: only one thread uses the replay. */
void pace_share(const struct pace_sharing *sharing);
