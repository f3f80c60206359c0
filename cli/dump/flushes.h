#pragma once
/*
 * Runs of flushed completions of one queue pair, which are one line of a dump: what they belong
 * to was posted behind the request that failed. One thread.
 */
#include <stdio.h>

#include "core/store/read/trace.h"

/* Zeroed there is none. */
struct flushes {
	bool open; /* its line has not ended: more may come */
	uint32_t process, qp, qp_num;
	uint64_t more; /* completions after that poll */
	struct event_id last;
	int64_t began, ended;
};

/* Has the poll nothing but flushed completions of one queue pair? */
bool flushes_only(const struct trace_event *event);

/* Such a poll is the first of a run. */
void flushes_begin(struct flushes *run, const struct trace_event *event);

/* Count @event if it belongs to the run; else false. */
bool flushes_take(struct flushes *run, const struct trace_event *event);

/* What is behind the first poll of the run: nothing where there was no other. */
void flushes_print(FILE *out, const struct flushes *run);
