#pragma once
/*
 * Ends a suite early: by a signal, or the deadline. Not thread-safe.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct suite_end {
	const char *why; /* "SIGTERM", "--deadline"; NULL: nothing has ended it */
	bool given_up;   /* the running replays were killed, and do not end */
	bool killed;     /* private */
	sigset_t before; /* the signal mask before suite_end_begin() */
	sigset_t waited; /* private */
	int number;      /* private: the signal */
	/* private: time of the end, and time when running replays are killed; 0: never */
	uint64_t due, hard;
};

/* From here on signals are blocked until suite_end_wait(). @deadline: ns from now, or 0. */
void suite_end_begin(struct suite_end *end, int64_t deadline);

/*
 * Wait for the end of a child, a signal or the deadline. Returns the signal to be sent to the
 * running replays, or 0.
 */
int suite_end_wait(struct suite_end *end);

/* Restore the signal mask; a signal that has ended the suite ends the process. */
void suite_end_finish(const struct suite_end *end);
