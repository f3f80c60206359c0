#pragma once
/*
 * A trace as the events of a Perfetto trace. Not thread-safe.
 */
#include <stdio.h>

struct profile_select;
struct trace;

/*
 * Write the events of @select, without phases. Returns 0 or -errno after log_err(); the caller
 * checks @file for write errors.
 */
int perfetto_write(FILE *file, struct trace *trace, const struct profile_select *select);
