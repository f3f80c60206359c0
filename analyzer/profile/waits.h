#pragma once
/*
 * How long the recorder made threads wait: table `waited`, row by row in order of time.
 *
 * One thread.
 */
#include "analyzer/profile/profiler.h"

struct wait_row {
	struct event_id id;
	uint32_t process;
	int64_t time, ns;
	uint64_t times;
	bool full; /* the ring was full; else it was extended */
};

/* Go to the first row, if the trace has the table; to the next. 0 or -errno after log_err(). */
int waits_open(struct profiler *p);
int waits_next(struct profiler *p);

/* The row; p->next_wait is its time. */
struct wait_row waits_row(const struct profiler *p);
void waits_count(struct profiler *p, const struct wait_row *row);

/* The sums of the table so far: times, ns and most. 0 or -errno after log_err(). */
int waits_sum(const struct profiler *p, struct profile_waited *ret_waited);

void waits_close(struct profiler *p);
