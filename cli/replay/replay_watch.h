#pragma once
/*
 * Ends a replay early and leaves its report: SIGINT, SIGTERM, SIGHUP, --deadline. Shows how far it
 * is on a terminal. One replay at a time, in one thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct outcome;

struct replay_watch {
	struct outcome *outcome;
	int64_t deadline; /* ns from now; 0 none */
	uint64_t total;   /* events of the trace */
	/* Print the report, and end the process; in another thread, where the replay hangs. */
	void (*finish)(void *arg, int signal);
	void *arg;
};

/*
 * Watch from now on; a signal that came after the last one ends this. @watch must stay valid.
 * Returns 0 or -errno; without it the replay goes on unwatched.
 */
int replay_watch_start(struct replay_watch *watch);

/*
 * The replay has ended: returns the signal that ended it, 0 for none; *@ret_late: the deadline
 * did. Does not return where the watch has given up waiting, and prints.
 */
int replay_watch_stop(bool *ret_late);

/* After the last: another signal ends the printing. */
void replay_watch_leave(void);

/* Wait, between these two, for Enter or for a signal, which then does not end the replay. */
void replay_watch_hold(void);

/* The signals that end a replay, up to a 0. */
extern const int replay_ends[];
