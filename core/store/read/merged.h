#pragma once
/*
 * The source traces of a merged trace (core/store/merge). Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/store/read/trace.h"
#include "core/store/read/trace_clock.h"

/* The number of source traces; 0: the trace is not merged, or is joint. */
size_t trace_nmerged(const struct trace *trace);

/*
 * The name of the @i-th trace, its host, its clock, and how far its machine's time of day is ahead.
 */
const char *trace_merged_name(const struct trace *trace, size_t i);
const char *trace_merged_host(const struct trace *trace, size_t i);
struct trace_clock trace_merged_clock(const struct trace *trace, size_t i);
int64_t trace_merged_ahead(const struct trace *trace, size_t i);

/* The source trace of @process, from 0; 0 if the trace is not merged. */
size_t trace_merged_of(const struct trace *trace, uint32_t process);

/* The losses of a part. Queries the trace each time. */
struct trace_loss trace_merged_loss(struct trace *trace, size_t i);

/*
 * The value of @key in table meta of the @i-th source trace; only keys about the device, forks,
 * losses and the recording. NULL: none. For a trace that is not merged, the trace's own value.
 */
const char *trace_merged_meta(struct trace *trace, size_t i, const char *key);

/* The name of @source in table `merged`, such as "estimated". */
const char *merged_clock_name(enum clock_source source);

/* For trace_load.c: 0 or -errno after log_err(). */
int merged_load(struct trace *trace);
void merged_unload(struct trace *trace);
