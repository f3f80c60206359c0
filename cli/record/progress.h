#pragma once
/*
 * Progress messages during and after the recording; stderr only. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/write/writer.h"

struct progress {
	bool quiet;
	bool live; /* one line on the terminal, rewritten */
	bool shown;
	bool failed;   /* the recording has failed, which was reported */
	uint64_t last; /* CLOCK_MONOTONIC: time of the last line; the events it showed */
	uint64_t events;
};

void progress_start(struct progress *progress, bool quiet);

/* Rewrite the line if it is time. */
void progress_show(struct progress *progress, const struct writer *writer);

/* Remove the line before other output. */
void progress_clear(struct progress *progress);

/*
 * Print the last lines: the contents of @path, and what failed (@alarms; NULL: already printed).
 * @before: nothing was written, @path is the previous trace.
 */
void progress_end(struct progress *progress, const char *path, const struct totals *totals,
		  const struct writer_alarms *alarms, bool before);

/*
 * "5 verbs failed, 1 completion in error: verbatim check t.db", without the counts that are 0.
 * False: there is nothing to report.
 */
struct text;
bool progress_failures(struct text *text, const char *path, const struct writer_alarms *alarms);
