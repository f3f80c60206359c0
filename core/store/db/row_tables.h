#pragma once
/*
 * Tables `object`, `connection` and `queue` in the blocks of table `row_chunk`.
 *
 * A program that makes objects again and again has many rows in them, which differ in a few
 * numbers: a table of ROW_TABLE_LEAST rows or more is in blocks as a whole. For the connection of a
 * reader a temporary table of the same name has its rows; main.object and so on are empty then.
 *
 * Not thread-safe.
 */
#include "core/store/db/sql.h"

enum { ROW_TABLE_LEAST = 256 };

/* The three tables, with the columns that their rows are sorted by. The last has no name. */
struct row_table {
	const char *name, *key;
};
extern const struct row_table row_tables[];

/* Show those that are in blocks. 0 or -errno after log_err(). */
int row_tables_show(sqlite3 *db);

/*
 * Writing: between the two calls these tables of the connection are temporary ones with all rows,
 * so that any statement may fill and change them. Those with at least @least rows go into blocks.
 * 0 or -errno after log_err().
 */
int row_tables_begin(sqlite3 *db);
int row_tables_end(sqlite3 *db, int64_t least);
