#pragma once
/*
 * What ends a suite early: a signal, or the deadline. One thread.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct suite_end {
	const char *why;    /* "SIGTERM", "--deadline"; NULL: nothing has ended it */
	bool given_up;      /* those that run were killed, and do not end */
	bool killed;        /* private */
	sigset_t before;    /* what was blocked before suite_end_begin() */
	sigset_t waited;    /* private */
	int number;         /* private: the signal */
	uint64_t due, hard; /* private: 0: never; when it ends, when those that run are killed */
};

/* From here on signals wait for suite_end_wait(). @deadline: ns from now, or 0. */
void suite_end_begin(struct suite_end *end, int64_t deadline);

/*
 * Wait for the end of a child, a signal or the deadline. Returns the signal that the replays which
 * run are to get, or 0.
 */
int suite_end_wait(struct suite_end *end);

/* Signals are as they were; one that has ended the suite ends the process. */
void suite_end_finish(const struct suite_end *end);
