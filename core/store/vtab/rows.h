#pragma once
/*
 * The sources of rows of a virtual table. For vtab.c.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/tables.h"
#include "core/store/read/trace_priv.h"

/* Rows outside these are not returned; chunks that are completely outside are not read. */
struct rows_bounds {
	int64_t thread; /* -1: any */
	int64_t n_from, n_to;
	int64_t time_from, time_to;
	int64_t status; /* status of completions; -1: any */
};

struct rows_source {
	/* 0 or -errno after log_err(). */
	int (*new)(struct trace *trace, const struct data_table *table, void **ret_rows);

	/* Accepts NULL. */
	void (*free)(void *rows);

	/*
	 * Start again with other bounds, and go to the first row; may reuse decoded data. @used:
	 * bit c is set if column c of the table is used. 1; 0: there is no row; or -errno.
	 */
	int (*first)(void *rows, const struct rows_bounds *bounds, uint64_t used);

	/* The next row: 1, 0 at the end, -errno. */
	int (*next)(void *rows);

	/* Pause until the next first(): reset all statements. */
	void (*rest)(void *rows);

	/* Return column @column of the current row as the result of @context. */
	void (*value)(void *rows, int column, sqlite3_context *context);
};

extern const struct rows_source scan_source;    /* from chunks: scan.c */
extern const struct rows_source matched_source; /* `wc` with requests: matched.c */
extern const struct rows_source payload_source; /* `payload`: payload_table.c */
