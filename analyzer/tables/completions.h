#pragma once
/*
 * The completions of a polled event, with the columns of table `wc`.
 *
 * SQL reads that table from the chunks (core/store/vtab/scan.c); this is for a reader that has the
 * events anyway. Not thread-safe.
 */
#include "core/store/read/trace.h"
#include "core/store/vtab/cells.h"

/* The columns of `wc`; the last one has no name. */
const struct computed_column *completions_columns(void);

/* More than the members of a completion, two to a word; an array of unsigned int. */
enum { COMPLETIONS_KEY = 12 };

/* A completion, and its event. */
struct completion {
	uint32_t key[2 * COMPLETIONS_KEY]; /* completions_varying() */
	struct event_id id;
	uint32_t i, process, cq; /* @i: index in the event; 0: not known */
	int64_t time;
	struct wc wc;
};

/* Completion @i of @event, a poll. */
void completion_copy(const struct trace_event *event, uint32_t i, struct completion *to);

/* Completions with equal keys have equal values in all columns but those with a bit here. */
uint64_t completions_varying(void);

/* Column @column of @n completions. */
void completions_fill(const struct completion *rows, uint32_t n, int column, struct cells *cells);
