#pragma once
/*
 * Replays of a suite: each in a process of its own, whose report and messages are read when it has
 * ended. One thread.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/text.h"

#define SUITE_ENV "VERBATIM_REPLAY_OF_SUITE" /* set: we are one of these replays */

enum suite_kind {
	SUITE_SAME,     /* as recorded */
	SUITE_LEFT_OUT, /* no divergence, but not all of it */
	SUITE_LACKS,    /* the device cannot do it */
	SUITE_DIFFERS,
	SUITE_FAILED,      /* not replayed: a bad trace, no device, a signal */
	SUITE_NOT_REACHED, /* the suite was ended before */
	SUITE_KINDS,
};

struct suite_run {
	const char *path, *device; /* device NULL: that of this machine */
	pid_t pid;                 /* while it runs */
	int report, messages;      /* files in memory */
	uint64_t began, lasted;    /* monotonic, ns */
	enum suite_kind kind;
	int status;      /* exit status; -1: a signal */
	char cell[64];   /* "2 divergences" */
	struct text why; /* lines: what differs, what was left out; empty */
};

/*
 * Start `verbatim replay` with the arguments @again, which end with NULL, and @mask as its blocked
 * signals. 0 or -errno.
 */
int suite_run_start(struct suite_run *run, char *const *again, const sigset_t *mask);

/* Its process has ended with @status, as of waitpid(). 0 or -errno after log_err(). */
int suite_run_end(struct suite_run *run, int status);

/* Its process does not end: no longer wait for it. 0 or -errno. */
int suite_run_leave(struct suite_run *run);

void suite_run_fini(struct suite_run *run);
