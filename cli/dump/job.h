#pragma once
/*
 * The traces of a job, on one time line. One thread.
 */
#include "cli/options.h"
#include "core/store/db/ids.h"

struct trace;

/*
 * Those of @all that name traces: the first, and all behind it that end in ".db" or are a file with
 * a trace in it; and what is left behind these.
 */
void job_split(const struct arguments *all, struct arguments *ret_traces,
	       struct arguments *ret_left);

/*
 * Open them as one. What is known of the clocks of several goes to stderr, a line each. Returns 0;
 * or the exit status, after one line to stderr.
 */
int job_open(const char *command, const struct arguments *traces, struct trace **ret_trace);

/*
 * The event that was given as @id, and as of trace @name, "" where none is: trace_find_event().
 * Thread 0 stays. Returns 0, or the exit status after one line.
 */
int job_find_event(const char *command, struct trace *trace, const char *name, struct event_id id,
		   struct event_id *ret_id);

/* The same for a process. */
int job_find_process(const char *command, struct trace *trace, const char *name, uint32_t process,
		     uint32_t *ret_process);
