#pragma once
/*
 * Runs work in a child process, with limits, on input that may crash a library. Not thread-safe.
 */
#include <stdint.h>

struct confined_limits {
	uint64_t bytes; /* limit of its own memory */
	/* processor time between two calls of confined_note_progress(); at most twice this */
	unsigned int seconds;
};

/*
 * Run @work in a child, which dumps no core and does not outlive this process. Its log.h output is
 * printed, output of its libraries is not. Returns the result of @work, 0 to 255, with 0 in
 * *ret_signal; or -errno: -ECHILD if signal *ret_signal ended the child, SIGXCPU if it made no
 * progress.
 */
int confined_run(int (*work)(void *arg), void *arg, const struct confined_limits *limits,
		 int *ret_signal);

/* The work calls this from time to time, so that it is not ended for want of progress. */
void confined_note_progress(void);

/* From here on the work has no time limit. */
void confined_disable_timer(void);

/* @bytes of zeroed memory that parent and child share; NULL if memory runs out. Never freed. */
void *confined_share(uint64_t bytes);
