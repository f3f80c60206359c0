#pragma once
/*
 * Tables `object`, `connection` and `queue` in the blocks of table `row_chunk`.
 *
 * A program that creates objects again and again has many rows in them, which differ in a few
 * numbers: a table of ROW_TABLE_LEAST rows or more is stored in blocks, all of it. In a connection
 * that reads, a temporary table of the same name then shows the rows; main.object is empty.
 *
 * Not thread-safe.
 */
#include "core/store/db/sql.h"

enum { ROW_TABLE_LEAST = 256 };

/* Add temporary tables for those that are in blocks. 0 or -errno after log_err(). */
int row_tables_show(sqlite3 *db);

/*
 * Writing: between row_tables_begin() and row_tables_end(), temporary tables of the connection have
 * all rows, so that any statement may fill and change them. The end stores tables of at least
 * @least rows in blocks. 0 or -errno after log_err().
 */
int row_tables_begin(sqlite3 *db);
int row_tables_end(sqlite3 *db, int64_t least);
