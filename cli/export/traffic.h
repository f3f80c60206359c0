#pragma once
/*
 * The traffic of a trace as RoCE v2 packets in a pcapng file. Not thread-safe.
 */
#include <stdio.h>

struct profile_select;
struct trace;

/* For readers of the packets: which fields are not in a trace, and how they are inferred. */
extern const char traffic_inferred[];

/*
 * Write the packets of @select, without phases. Returns 0 or -errno after log_err(); the caller
 * checks @file for write errors.
 */
int traffic_write(FILE *file, struct trace *trace, const struct profile_select *select);
