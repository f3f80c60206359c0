#pragma once
/*
 * The traffic that a trace was of, as packets of RoCE v2 in a pcapng file. One thread.
 */
#include <stdio.h>

struct profile_select;
struct trace;

/* What is not in a trace, and how it is made up: for who reads the packets. */
extern const char traffic_inferred[];

/*
 * Write the packets of @select, without phases. Returns 0 or -errno after log_err(); what became of
 * @file its owner asks.
 */
int traffic_write(FILE *file, struct trace *trace, const struct profile_select *select);
