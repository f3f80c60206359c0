#pragma once
/*
 * Work in a child process, under limits, on input that may crash a library. One
 * thread.
 */
#include <stdint.h>

struct apart_limits {
	uint64_t bytes;       /* of its own memory, at most */
	unsigned int seconds; /* of processor time without apart_goes_on(); twice that at most */
};

/*
 * Run @work in a child, which leaves no core and does not outlive us. What it
 * logs by log.h is printed, what its libraries print is not. Returns what @work
 * returned, 0 to 255, with 0 in *ret_signal; or -errno: -ECHILD if signal
 * *ret_signal ended the child, SIGXCPU if it made no progress.
 */
int apart_run(int (*work)(void *arg), void *arg, const struct apart_limits *limits,
	      int *ret_signal);

/* Called by @work from time to time to show progress. */
void apart_goes_on(void);

/* From here on @work has no limit of time. */
void apart_unhurried(void);

/* @bytes of zeroed memory that parent and child share; NULL if memory runs out. Never freed. */
void *apart_share(uint64_t bytes);
