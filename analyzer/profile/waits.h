#pragma once
/*
 * How long the recorder made threads wait: table `waited`, row by row in order of time.
 *
 * One thread.
 */
#include "analyzer/profile/profiler.h"

/* Go to the first row, if the trace has the table; to the next. 0 or -errno after log_err(). */
int waits_open(struct profiler *p);
int waits_next(struct profiler *p);

/* p->next_wait; its time is INT64_MAX behind the last row. */
void waits_count(struct profiler *p, const struct waited_row *row);

/* The sums of the table so far: times, ns and most. 0 or -errno after log_err(). */
int waits_sum(const struct profiler *p, struct profile_waited *ret_waited);

void waits_close(struct profiler *p);
