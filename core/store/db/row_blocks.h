#pragma once
/*
 * The blocks of one table, which are in table `row_chunk`: which rows each has, and reading one.
 *
 * Not here: writing (row_pack.c), SQL on them (row_tables.c). Not thread-safe.
 */
#include <stdbool.h>

#include "core/store/chunk/row_block.h"
#include "core/store/db/sql.h"

/*
 * The tables that may be in blocks: name, columns that sort the rows, columns of times. The last
 * table has no name.
 */
struct row_table {
	const char *name, *key, *times[2];
};
extern const struct row_table row_tables[];

struct row_blocks {
	sqlite3 *db;
	const struct row_table *table;
	uint32_t columns;
	bool number[ROW_COLUMNS_MAX]; /* which columns have numbers */
	struct row_place {
		int64_t i, first, last; /* columns of row_chunk */
		uint32_t from, rows;    /* index of its first row in the table, number of rows */
	} * places;
	size_t nplaces;
	uint32_t rows;
	sqlite3_stmt *read;
};

/* Are the rows of @table in blocks? */
bool row_blocks_exist(sqlite3 *db, const char *table);

/* Returns 0, or -errno after log_err(). Close it even after an error. */
int row_blocks_open(sqlite3 *db, const struct row_table *table, struct row_blocks *blocks);
void row_blocks_close(struct row_blocks *blocks);

/* Decode the block of places[i]. 0, or -errno after log_err(). */
int row_blocks_read(struct row_blocks *blocks, size_t i, struct row_block *to);

/* Read a value of an SQLite row; its kind is ROW_KINDS if the recorder does not write this type. */
struct row_value row_value_read(sqlite3_stmt *stmt, int column);

/*
 * Visit all rows of a table of row_tables[], until @visit does not return 0. The rows are read from
 * its blocks; if it has none, by @sql, which selects all columns in their order. Blocks are read
 * without SQLite: with a virtual table, a row would take five times as long. Returns what @visit
 * returned last, or -errno after log_err().
 */
typedef int row_visit_fn(void *arg, const struct row_value *row);
int row_table_visit(sqlite3 *db, const char *name, const char *sql, row_visit_fn *visit, void *arg);
