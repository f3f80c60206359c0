#pragma once
/*
 * Runs of flushed completions of one queue pair, which are printed as one line: their requests were
 * posted after the one that failed. Not thread-safe.
 */
#include <stdio.h>

#include "core/store/read/trace.h"

/* All zero: no run. */
struct flushes {
	bool open; /* its line has not ended: more may come */
	uint32_t process, qp, qp_num;
	uint64_t more; /* flushed completions after that poll */
	struct event_id last;
	int64_t began, ended;
};

/* Does the poll have only flushed completions of one queue pair? */
bool flushes_only(const struct trace_event *event);

/* Begin a run with the poll @event. */
void flushes_begin(struct flushes *run, const struct trace_event *event);

/* Count @event if it belongs to the run. Returns whether it does. */
bool flushes_add(struct flushes *run, const struct trace_event *event);

/* Print the line's end after the first poll of the run; nothing if the run has only that. */
void flushes_print(FILE *out, const struct flushes *run);
