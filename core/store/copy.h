#pragma once
/*
 * A copy of a trace, unchanged except for variables that this version does not record
 * (core/wire/variable.h).
 */
struct trace;

/*
 * Write @trace as @to, replacing an existing trace as writer_create() does. Concurrent changes
 * (check --save) are copied completely or not at all. 0 or -errno after log_err(); then there is no
 * copy.
 */
int trace_copy(struct trace *trace, const char *to);
