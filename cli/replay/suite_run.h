#pragma once
/*
 * Replays of a suite: each in a separate process, whose report and messages are read when it has
 * ended. Not thread-safe.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/text.h"

#define SUITE_ENV "VERBATIM_REPLAY_OF_SUITE" /* set: this process is a replay of a suite */

enum suite_kind {
	SUITE_SAME,     /* as recorded */
	SUITE_LEFT_OUT, /* no divergence, but some events were left out */
	SUITE_LACKS,    /* the device lacks a needed feature */
	SUITE_DIFFERS,
	SUITE_FAILED,      /* not replayed: a bad trace, no device, a signal */
	SUITE_NOT_REACHED, /* the suite ended before */
	SUITE_KINDS,
};

struct suite_run {
	const char *path, *device; /* device NULL: the machine's own */
	pid_t pid;                 /* pid of the replay while it runs */
	int report, messages;      /* files in memory */
	uint64_t began, lasted;    /* monotonic, ns */
	enum suite_kind kind;
	int status;      /* exit status; -1: a signal */
	char cell[64];   /* "2 divergences" */
	struct text why; /* lines: divergences, events left out; may be empty */
};

/*
 * Start `verbatim replay` with the arguments @again, which end with NULL, and @mask as its blocked
 * signals. 0 or -errno.
 */
int suite_run_start(struct suite_run *run, char *const *again, const sigset_t *mask);

/* The process of @run has ended with @status, as from waitpid(). 0 or -errno after log_err(). */
int suite_run_end(struct suite_run *run, int status);

/* The process of @run does not end: stop waiting for it. 0 or -errno. */
int suite_run_leave(struct suite_run *run);

void suite_run_fini(struct suite_run *run);
