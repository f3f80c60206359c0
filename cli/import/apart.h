#pragma once
/*
 * Work on input that a library may not survive: in a child process, under
 * limits. One thread.
 */
#include <stdint.h>

struct apart_limits {
	uint64_t bytes;       /* of its own memory, at most */
	unsigned int seconds; /* of processor time without apart_goes_on(); twice that at most */
};

/*
 * Do @work in a child, which is not dumped and does not outlive us. What it says
 * by log.h is said; what its libraries print is not. Returns what @work
 * returned, 0 to 255, with 0 in *ret_signal; or -errno, -ECHILD where the
 * child was ended by *ret_signal: SIGXCPU where it did not go on.
 */
int apart_run(int (*work)(void *arg), void *arg, const struct apart_limits *limits,
	      int *ret_signal);

/* To be called by @work, now and then: it has got further. */
void apart_goes_on(void);

/* What is left to do takes what it takes. */
void apart_unhurried(void);

/* @bytes of zeroed memory that parent and child share; NULL where there is none. Never freed. */
void *apart_share(uint64_t bytes);
