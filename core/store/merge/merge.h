#pragma once
/*
 * Merging: several traces on one time line, as one trace.
 *
 * All that is in them is in it: processes, threads, objects and stacks of a trace have the numbers
 * of those before it added, N of T:N stays, and times are as the joint trace has them. Table
 * `merged` says what came from where, and how its clock was placed. Findings, which are of one
 * trace, are not carried.
 */
#include <stdint.h>

struct trace;

/*
 * Write the joint trace @joint, whose clocks are set, as @to, which may lie there as for
 * writer_create(): it is written beside it and renamed at the end, so that a failure leaves what
 * was there. Memory does not grow with the number of events. 0 or -errno after log_err(): -EINVAL
 * where one of them was merged before.
 */
int merge_write(struct trace *joint, const char *to);
