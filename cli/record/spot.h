#pragma once
/*
 * The program stops where a verb has failed: what --stop-on means, and what the user is told.
 *
 * The program's own thread stops it (core/wire/stop.h). One thread.
 */
#include <stdbool.h>
#include <sys/types.h>

#include "cli/options.h"
#include "cli/record/core_file.h"
#include "cli/record/progress.h"
#include "core/wire/session.h"

struct writer;

/* What --stop-on asks for. */
struct stop_setting {
	struct stop_rule rule;
	bool finding; /* stop at findings of --check, soon after them */
};

/* --stop-on=WHAT,...: error, finding, every, a verb, a completion's status. As option_parse. */
int stop_read(const char *text, void *field, char complaint[OPTIONS_COMPLAINT]);

enum { SPOTS_MAX = 32 };

/* A process that has stopped, by the thread that did it. */
struct stopped {
	pid_t pid, tid;
	bool traced;        /* a debugger had it when we looked last */
	unsigned int looks; /* since it stopped */
	unsigned int moved; /* looks since it was seen to be stopped or traced */
	uint64_t switches;  /* of contexts, of that thread, by the time it lay still */
};

struct spot {
	struct session *session;
	struct writer *writer;
	struct progress *progress;
	const char *path; /* of the trace; cores lie beside it */
	struct core_file core;
	uint64_t seen_at; /* CLOCK_MONOTONIC: that one was taken and is to be told of; 0: none is */
	struct stopped stopped[SPOTS_MAX];
	unsigned int nstopped;
};

/*
 * Tell of a process that is stopped, and let go on what its debugger has left. To be called after
 * the rings were drained. True: soon again.
 */
bool spot_look(struct spot *spot);

/* Let all go on that are stopped and that no debugger has. */
void spot_release(struct spot *spot);

/* The recording ends: likewise, after the core that is being written. */
void spot_end(struct spot *spot);
