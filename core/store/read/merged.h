#pragma once
/*
 * What a merged trace (core/store/merge) knows of the traces that it was made of. One thread.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/store/read/trace.h"
#include "core/store/read/trace_clock.h"

/* How many it was made of; 0: it is not merged. Of a joint trace 0. */
size_t trace_nmerged(const struct trace *trace);

/* Of the @i-th of them: its name, its host, its clock, and how far that of its machine is ahead. */
const char *trace_merged_name(const struct trace *trace, size_t i);
const char *trace_merged_host(const struct trace *trace, size_t i);
struct trace_clock trace_merged_clock(const struct trace *trace, size_t i);
int64_t trace_merged_ahead(const struct trace *trace, size_t i);

/* Which of them @process is of, from 0; 0 if the trace is not merged. */
size_t trace_merged_of(const struct trace *trace, uint32_t process);

/* What was lost of it. Asks the trace each time. */
struct trace_loss trace_merged_loss(struct trace *trace, size_t i);

/*
 * What its table meta says of the device, of forks, of losses, and of its recording; NULL: it has
 * no such key. Of a trace that is not merged what its own says.
 */
const char *trace_merged_meta(struct trace *trace, size_t i, const char *key);

/* "estimated", as in table `merged`. */
const char *merged_clock_name(enum clock_source source);

/* For trace_load.c: 0 or -errno after log_err(). */
int merged_load(struct trace *trace);
void merged_unload(struct trace *trace);
