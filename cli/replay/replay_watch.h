#pragma once
/*
 * Ends a replay early with a report: SIGINT, SIGTERM, SIGHUP, --deadline. Shows the progress on a
 * terminal. One replay at a time, in one thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct outcome;

struct replay_watch {
	struct outcome *outcome;
	int64_t deadline; /* ns from now; 0 none */
	uint64_t total;   /* events of the trace */
	/* Print the report, and end the process; in another thread, if the replay hangs. */
	void (*finish)(void *arg, int signal);
	void *arg;
};

/*
 * Watch the replay from now on. A signal that arrived since the previous replay ends this one, too.
 * @watch must stay valid. Returns 0 or -errno; the replay then continues unwatched.
 */
int replay_watch_start(struct replay_watch *watch);

/*
 * The replay has ended. Returns the signal that ended it, or 0; *@ret_late: the deadline ended it.
 * Does not return if the watch has stopped waiting and prints the report.
 */
int replay_watch_stop(bool *ret_late);

/* After the last replay: another signal ends the printing. */
void replay_watch_leave(void);

/* Between start and stop, wait for Enter or for a signal, which then does not end the replay. */
void replay_watch_hold(void);

/* The signals that end a replay; the last is 0. */
extern const int replay_ends[];
