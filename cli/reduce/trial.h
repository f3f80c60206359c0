#pragma once
/*
 * Trials: a command in a child process tests whether a trace still reproduces the goal. Several at
 * a time. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRIALS_MAX = 16, TRIAL_PATH = 256 };

struct trial {
	pid_t pid;    /* 0: none is running */
	uint64_t end; /* CLOCK_MONOTONIC, ns: the trial is killed then */
	char path[TRIAL_PATH], out[TRIAL_PATH + 8];
};

/* Start to test trial->path with the command @argv. 0 or -errno after log_err(). */
int trial_start(struct trial *trial, const char *const *argv, uint64_t ns);

/* The result of a trial. */
struct trial_end {
	int exit;   /* its exit status; -1: it crashed or was killed */
	char *text; /* its output, freed by the caller */
	size_t bytes;
};

/* Has the trial ended? 1; 0: not yet; or -errno. */
int trial_poll(struct trial *trial, struct trial_end *ret_end);

/* Kill the trial and remove its output. Does nothing if no trial is running. */
void trial_stop(struct trial *trial);
