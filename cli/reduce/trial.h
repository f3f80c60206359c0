#pragma once
/*
 * Trials: a command in a child process says whether a trace still shows what is wanted. Several at
 * a time. One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/reduce/goal.h"

enum { TRIALS_MAX = 16, TRIAL_PATH = 256 };

struct trial {
	pid_t pid;    /* 0: none is under way */
	uint64_t end; /* CLOCK_MONOTONIC, ns: it is given up then */
	char path[TRIAL_PATH], out[TRIAL_PATH + 8];
};

/* Begin to try trial->path. 0 or -errno after log_err(). */
int trial_start(struct trial *trial, const struct goal *goal, const struct goal_how *how,
		uint64_t ns);

/*
 * Has it ended? 1, with its exit status (-1: it crashed or was given up) and what it printed, to be
 * freed by the caller; 0: not yet; or -errno.
 */
int trial_poll(struct trial *trial, int *ret_exit, char **ret_text, size_t *ret_bytes);

/* End it, however far it came, and remove what it printed. Does nothing if none is under way. */
void trial_stop(struct trial *trial);
