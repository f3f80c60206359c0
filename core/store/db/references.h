#pragma once
/*
 * The list of columns of the control plane that refer to rows of other tables.
 *
 * Readers use these numbers as indexes of arrays, so one out of range could demand any amount of
 * memory. One thread.
 */
#include "core/store/db/sqlite.h"

/*
 * A letter for each column: p process, t thread, o object, s stack, m module, d device: a number of
 * one, or 0 or NULL for none; P: of a process that the trace must have; T a time; any other letter
 * is not a reference. Columns after the last letter are not references.
 */
struct references {
	const char *table, *columns;
};

/* In the order of core/store/db/schema.c; the last table is NULL. */
extern const struct references references[];

/*
 * Check that all references are within the bounds of their tables (sql_id_bound()): excerpts refer
 * to numbers of rows that were left out. 0, or -EINVAL after log_err().
 */
int references_check(sqlite3 *db);
