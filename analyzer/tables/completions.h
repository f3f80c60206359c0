#pragma once
/*
 * The completions of a polled event, with the columns of table `wc`.
 *
 * SQL reads that table from the chunks (core/store/vtab/scan.c); this is for a reader that has the
 * events anyway. One thread.
 */
#include "core/store/read/trace.h"
#include "core/store/vtab/made.h"

/* The columns of `wc`; the last one has no name. */
const struct made_column *completions_columns(void);

/* Column @column of completion @i of @event, a poll; NULL if no value is set. */
void completions_value(const struct trace_event *event, uint32_t i, int column,
		       struct made_value *value);
