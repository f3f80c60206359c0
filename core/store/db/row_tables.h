#pragma once
/*
 * Tables `object`, `connection` and `queue` in the blocks of table `row_chunk`.
 *
 * If a program creates objects again and again, these tables have many rows that differ in a few
 * numbers. A table of ROW_TABLE_LEAST rows or more is stored completely in blocks: then
 * main.object, for instance, is empty, and in a reader's connection a temporary table `object`
 * shows the rows.
 *
 * Not thread-safe.
 */
#include "core/store/db/sql.h"

enum { ROW_TABLE_LEAST = 256 };

/* Add temporary tables for the tables that are in blocks. 0 or -errno after log_err(). */
int row_tables_create(sqlite3 *db);

/*
 * Writing: between row_tables_begin() and row_tables_end(), temporary tables of the connection have
 * all rows, so that any statement may fill and change them. The end stores tables of at least
 * @least rows in blocks. 0 or -errno after log_err().
 */
int row_tables_begin(sqlite3 *db);
int row_tables_end(sqlite3 *db, int64_t least);
