#pragma once
/*
 * Merging: several traces on one time line, as one trace.
 *
 * It has all their contents: the numbers of processes, threads, objects and stacks are increased by
 * those of the earlier traces, N of T:N is unchanged, and times are those of the joint trace. Table
 * `merged` has the ranges of each trace, and its clock. Findings belong to one trace, and are not
 * copied.
 */
#include <stdint.h>

struct trace;

/*
 * Write the joint trace @joint, whose clocks are set, as @to; an existing file is treated as by
 * writer_create(): a temporary file is renamed at the end, so that a failure leaves the old one.
 * Memory does not grow with the number of events. 0 or -errno after log_err(): -EINVAL if one of
 * them is already merged.
 */
int merge_write(struct trace *joint, const char *to);
