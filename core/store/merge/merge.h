#pragma once
/*
 * Merging: several traces on one time line, as one trace.
 *
 * The merged trace has all contents of the traces: the numbers of processes, threads, objects and
 * stacks are increased by their counts in earlier traces, N of T:N is unchanged, and times are
 * those of the joint trace. Table `merged` has the ranges of each trace, and its clock. Findings
 * belong to one trace, and are not copied.
 */
#include <stdint.h>

struct trace;

/*
 * Write the joint trace @joint, whose clocks are set, as @to; an existing file is treated as by
 * writer_create(): a temporary file is renamed at the end, so that a failure does not change the
 * old file. Memory does not grow with the number of events. 0 or -errno after log_err(): -EINVAL if
 * one of the traces is already merged.
 */
int merge_write(struct trace *joint, const char *to);
