#pragma once
/*
 * The traces of a job, on one time line. One thread.
 */
#include "cli/options.h"

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
