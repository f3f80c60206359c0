#pragma once
/*
 * The traces of a job, on one time line. Not thread-safe.
 */
#include "cli/options.h"
#include "core/store/db/ids.h"

struct trace;

/*
 * Split @all into the names of traces (the first, and all after it that end in ".db" or are a file
 * with a trace) and the rest.
 */
void job_split(const struct arguments *all, struct arguments *ret_traces,
	       struct arguments *ret_left);

/*
 * Open all traces as one. If there are several, facts about their clocks are printed to stderr, one
 * line each. Returns 0; or the exit status, after one line to stderr.
 */
int job_open(const char *command, const struct arguments *traces, struct trace **ret_trace);

/*
 * Find event @id of trace @name ("": no name was given) by trace_find_event(). An @id of thread 0
 * is returned unchanged. Returns 0, or the exit status after one line.
 */
int job_find_event(const char *command, struct trace *trace, const char *name, struct event_id id,
		   struct event_id *ret_id);

/* The same for a process. */
int job_find_process(const char *command, struct trace *trace, const char *name, uint32_t process,
		     uint32_t *ret_process);
