#pragma once
/*
 * Stopping the program when a verb has failed (--stop-on), and the messages about it.
 *
 * The program's own thread stops it (core/wire/stop.h). Not thread-safe.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "cli/options.h"
#include "cli/record/core_file.h"
#include "cli/record/progress.h"
#include "core/wire/session.h"

struct writer;

/* The settings of --stop-on. */
struct stop_setting {
	struct stop_rule rule;
	bool finding; /* stop at findings of --check, soon after them */
};

/*
 * Parse --stop-on=WHAT,...: error, finding, every, a verb, a completion's status. As option_parse.
 */
int stop_point_parse(const char *text, void *field, char complaint[OPTIONS_COMPLAINT]);

enum { SPOTS_MAX = 32 };

/* A process that has stopped, and the thread that stopped it. */
struct stopped_process {
	pid_t pid, tid;
	bool traced;        /* a debugger was attached at the last look */
	unsigned int looks; /* number of looks since it stopped */
	unsigned int moved; /* number of looks since it was seen stopped or traced */
	uint64_t switches;  /* context switches of that thread when it had stopped */
};

struct stop_point {
	struct session *session;
	struct writer *writer;
	struct progress *progress;
	const char *path; /* of the trace; cores are written beside it */
	struct core_file core;
	/* CLOCK_MONOTONIC: when a stopped process was noticed that is not reported yet; 0: none */
	uint64_t seen_at;
	struct stopped_process stopped[SPOTS_MAX];
	unsigned int nstopped;
};

/*
 * Report a stopped process, and continue processes that a debugger has left. Call it after the
 * rings were drained. True: call it again soon.
 */
bool stop_point_check(struct stop_point *spot);

/* Continue all stopped processes that no debugger is attached to. */
void stop_point_release(struct stop_point *spot);

/* The recording ends: wait for a core that is being written, then do the same. */
void stop_point_end(struct stop_point *spot);
