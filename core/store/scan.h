#pragma once
/*
 * The rows of one table of the data plane, out of chunks. For vtab.c.
 *
 * One thread.
 */
#include "core/store/block.h"
#include "core/store/tables.h"
#include "core/store/trace_int.h"

/* Rows outside are not given (events outside; whole chunks are not even read). */
struct scan_bounds {
	int64_t thread;          /* -1 any */
	int64_t n_from, n_to;
	int64_t time_from, time_to;
	int64_t status;          /* of completions; -1 any */
};

struct scan;

/* 0 or -errno after log_err(). */
int scan_new(struct trace *trace, const struct table *table, struct scan **ret_scan);

/* Accepts NULL. */
void scan_free(struct scan *scan);

/*
 * Start anew; what was decoded before may serve again. @used: bit c for column
 * c of the table. 1 a row, 0 none, -errno.
 */
int scan_first(struct scan *scan, const struct scan_bounds *bounds, uint64_t used);

/* The next row: 1, 0 at the end, -errno. */
int scan_next(struct scan *scan);

/* Column @column of the current row, as the result of @context. */
void scan_value(struct scan *scan, int column, sqlite3_context *context);
