#pragma once
/*
 * The rows of table `wc` with the request of each completion, out of a cursor.
 * For vtab.c. One thread.
 */
#include "core/store/scan.h"

struct matched;

/* 0 or -errno after log_err(). */
int matched_new(struct trace *trace, const struct scan_bounds *bounds, struct matched **ret);

/* Accepts NULL. */
void matched_free(struct matched *matched);

/* The next row, also the first: 1, 0 at the end, -errno. */
int matched_next(struct matched *matched);

/* Column @column of tables[TABLE_wc]. */
void matched_value(struct matched *matched, int column, sqlite3_context *context);
