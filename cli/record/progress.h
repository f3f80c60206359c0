#pragma once
/*
 * What the recorder tells while and after it records; stderr only. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/write/writer.h"

struct progress {
	bool quiet;
	bool live; /* a line on the terminal, rewritten */
	bool shown;
	uint64_t start; /* CLOCK_MONOTONIC */
	uint64_t last;  /* of the line before, and what it said */
	uint64_t events;
};

void progress_start(struct progress *progress, bool quiet);

/* Rewrite the line if it is time to. */
void progress_show(struct progress *progress, const struct writer *writer);

/* Take the line away: others want to write. */
void progress_clear(struct progress *progress);

/* The last word: what is in @path. */
void progress_end(struct progress *progress, const char *path, unsigned int processes,
		  const struct writer_progress *done);
