#pragma once
/*
 * A copy of a trace, as it is but for variables that are not recorded any more
 * (core/wire/variable.h).
 */
struct trace;

/*
 * Write @trace as @to, which may lie there as for writer_create(). What others change meanwhile
 * (check --save) is in it whole or not at all. 0 or -errno after log_err(); then there is none.
 */
int trace_copy(struct trace *trace, const char *to);
