#pragma once
/*
 * Which columns of the control plane name rows of other tables: the one list of it.
 *
 * Readers use these numbers as indexes of arrays, so one out of range could demand any amount of
 * memory. One thread.
 */
#include "core/store/db/sqlite.h"

/*
 * A letter for each column: p process, t thread, o object, s stack, m module, d device: the number
 * of one, or 0 or NULL for none; P: of a process that the trace has; T a time; anything else names
 * nothing. Columns behind the last letter name nothing.
 */
struct references {
	const char *table, *columns;
};

/* In the order of core/store/db/schema.c; the last table is NULL. */
extern const struct references references[];

/*
 * Check that each is within the bounds of the numbers of its table (sql_id_bound()): excerpts have
 * numbers of what they left out. 0, or -EINVAL after log_err().
 */
int references_check(sqlite3 *db);
