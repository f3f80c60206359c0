#pragma once
/*
 * Trials: a command in a child process says whether a trace still shows what is wanted. Several at
 * a time. One thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRIALS_MAX = 16, TRIAL_PATH = 256 };

struct trial {
	pid_t pid;    /* 0: none is under way */
	uint64_t end; /* CLOCK_MONOTONIC, ns: it is given up then */
	char path[TRIAL_PATH], out[TRIAL_PATH + 8];
};

/* Begin to try trial->path by the command @argv. 0 or -errno after log_err(). */
int trial_start(struct trial *trial, const char *const *argv, uint64_t ns);

/* What a trial has come to. */
struct trial_end {
	int exit;   /* its exit status; -1: it crashed or was given up */
	char *text; /* what it printed, to be freed by the caller */
	size_t bytes;
};

/* Has it ended? 1; 0: not yet; or -errno. */
int trial_poll(struct trial *trial, struct trial_end *ret_end);

/* End it, however far it came, and remove what it printed. Does nothing if none is under way. */
void trial_stop(struct trial *trial);
