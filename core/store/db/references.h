#pragma once
/*
 * The list of columns of the control plane that refer to rows of other tables.
 *
 * Readers use these numbers as indexes of arrays, so one out of range could demand any amount of
 * memory. One thread at a time for each connection.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/sqlite.h"

enum { REFERENCES_LETTERS = 7 };

/*
 * A letter for each column. Row numbers, 0 or NULL for none: p process, t thread, o object, s
 * stack, m module, d device; P: a process, never 0. T: a time. Any other letter: not a reference.
 * Columns after the last letter are not references.
 */
struct references {
	const char *table, *columns;
};

/* In the order of core/store/db/schema.c; the last table is NULL. */
extern const struct references references[];

/*
 * Check that all references are within the bounds of their tables (sql_id_bound()). A row may be
 * missing: excerpts leave rows out. 0, or -EINVAL after log_err().
 */
int references_check(sqlite3 *db);

/*
 * references_check() in two parts, which may use two connections: the small tables; `call` and
 * `ref`. Neither part checks table `object`: opening a trace reads all its rows, and objects_load()
 * calls references_check() if a row is out of these bounds.
 */
struct references_bounds {
	uint32_t process, thread, object;
	uint32_t most[REFERENCES_LETTERS]; /* of each letter that refers to a table */
};
int references_check_small(sqlite3 *db, struct references_bounds *ret_bounds);
int references_check_calls(sqlite3 *db, const struct references_bounds *bounds);
