#pragma once
/*
 * What the recorder reports while and after it records; stderr only. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/write/writer.h"

struct progress {
	bool quiet;
	bool live; /* a line on the terminal, rewritten */
	bool shown;
	bool failed;    /* the recording, which has been said */
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t last;  /* of the last line, and what it showed */
	uint64_t events;
};

void progress_start(struct progress *progress, bool quiet);

/* Rewrite the line if it is time to. */
void progress_show(struct progress *progress, const struct writer *writer);

/* Remove the line, before something else is written. */
void progress_clear(struct progress *progress);

/* The last line: what @path contains. */
void progress_end(struct progress *progress, const char *path, unsigned int processes,
		  const struct writer_progress *done);
