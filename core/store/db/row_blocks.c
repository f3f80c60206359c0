/*
 * The blocks of a table of many rows
 */
#include "core/store/db/row_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/schema.h"
#include "core/wire/log.h"

const struct row_table row_tables[] = {
	{ "object", "id", { "created_at", "destroyed_at" } },
	{ "connection", "thread, n", { "since", "until" } },
	/* both sides of a queue pair have the same thread and n */
	{ "queue", "thread, n, side", { NULL, NULL } },
	{ NULL, NULL, { NULL, NULL } },
};

static int refuse_block(const struct row_blocks *blocks)
{
	return log_why(-EINVAL, "%s is damaged: a block of table row_chunk",
		       sqlite3_db_filename(blocks->db, "main"));
}

static int check_block(const struct row_blocks *blocks, const struct row_block *block,
		       const struct row_place *place)
{
	int64_t last = place->first;

	if (block->rows != place->rows)
		return refuse_block(blocks);
	for (uint32_t i = 0; i < block->rows; i++) {
		struct row_value value = row_block_value(block, i, 0);

		if (value.kind != ROW_NUMBER || value.number < last || value.number > place->last)
			return refuse_block(blocks);
		last = value.number;
	}
	return 0;
}

int row_blocks_read(struct row_blocks *blocks, size_t i, struct row_block *to)
{
	int err;

	sql_bind(blocks->read, "ti", blocks->table->name, blocks->places[i].i);
	err = sql_step(blocks->read);
	if (err > 0)
		err = row_block_read(to, sqlite3_column_blob(blocks->read, 0),
				     (size_t)sqlite3_column_bytes(blocks->read, 0), blocks->columns)
			      ?: 1;
	sqlite3_reset(blocks->read);
	if (err == -ENOMEM)
		return log_err(err, "read rows");
	if (err == -EBADMSG || !err)
		return refuse_block(blocks);
	return err < 0 ? err : check_block(blocks, to, &blocks->places[i]);
}

static int load_places(struct row_blocks *blocks)
{
	sqlite3_stmt *stmt;
	int64_t last = INT64_MIN;
	int err = sql_prepare(blocks->db,
			      "SELECT i, first, last, rows FROM main.row_chunk WHERE name = ?"
			      " ORDER BY i",
			      &stmt);

	if (!err)
		sql_bind(stmt, "t", blocks->table->name);
	while (!err && (err = sql_step(stmt)) > 0) {
		struct row_place *p = vec_push(blocks->places, blocks->nplaces);

		err = p ? 0 : log_err(-ENOMEM, "read rows");
		if (err)
			break;
		*p = (struct row_place){ sqlite3_column_int64(stmt, 0),
					 sqlite3_column_int64(stmt, 1),
					 sqlite3_column_int64(stmt, 2), blocks->rows,
					 sql_u32(stmt, 3) };
		/* readers rely on the order of all rows */
		if (!p->rows || p->rows > ROWS_MAX || p->first < last || p->last < p->first ||
		    blocks->rows > UINT32_MAX - p->rows)
			err = refuse_block(blocks);
		last = p->last;
		blocks->rows += p->rows;
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Count the columns of the table, and note which have numbers. */
static void read_columns(struct row_blocks *blocks)
{
	const char *column = schema_columns(blocks->table->name);
	const char *end = strstr(column, "PRIMARY KEY(");

	for (; *column && column != end; column = schema_next_column(column)) {
		size_t n = strcspn(column, ",)");
		const char *type = memmem(column, n, " INTEGER", 8);

		blocks->number[blocks->columns++] = type;
		if (column[n] == ')')
			break;
	}
}

bool row_blocks_exist(sqlite3 *db, const char *table)
{
	sqlite3_stmt *stmt;
	bool found;

	if (!sql_has_table(db, "row_chunk") || /* an older format */
	    sql_prepare(db, "SELECT 1 FROM main.row_chunk WHERE name = ? LIMIT 1", &stmt))
		return false;
	sql_bind(stmt, "t", table);
	found = sql_step(stmt) > 0;
	sqlite3_finalize(stmt);
	return found;
}

int row_blocks_open(sqlite3 *db, const struct row_table *table, struct row_blocks *blocks)
{
	*blocks = (struct row_blocks){ .db = db, .table = table };
	read_columns(blocks);
	return load_places(blocks)
		       ?: sql_prepare(db,
				      "SELECT data FROM main.row_chunk WHERE name = ? AND i = ?",
				      &blocks->read);
}

void row_blocks_close(struct row_blocks *blocks)
{
	sqlite3_finalize(blocks->read);
	free(blocks->places);
	*blocks = (struct row_blocks){ 0 };
}

struct row_value row_value_read(sqlite3_stmt *stmt, int column)
{
	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_INTEGER:
		return (struct row_value){ .kind = ROW_NUMBER,
					   .number = sqlite3_column_int64(stmt, column) };
	case SQLITE_TEXT:
		return (struct row_value){
			.kind = ROW_TEXT,
			.text = (const char *)sqlite3_column_text(stmt, column),
			.length = (size_t)sqlite3_column_bytes(stmt, column),
		};
	case SQLITE_NULL:
		return (struct row_value){ .kind = ROW_NULL };
	default:
		return (struct row_value){ .kind = ROW_KINDS };
	}
}

static int visit_rows(sqlite3 *db, const char *sql, row_visit_fn *visit, void *arg)
{
	struct row_value row[ROW_COLUMNS_MAX];
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, sql, &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			row[i] = row_value_read(stmt, i);
		err = visit(arg, row);
	}
	sqlite3_finalize(stmt);
	return err;
}

static int visit_block(const struct row_block *block, row_visit_fn *visit, void *arg)
{
	struct row_value row[ROW_COLUMNS_MAX];
	int err = 0;

	for (uint32_t i = 0; i < block->rows && !err; i++) {
		for (uint32_t column = 0; column < block->columns; column++)
			row[column] = row_block_value(block, i, column);
		err = visit(arg, row);
	}
	return err;
}

static int visit_blocks(sqlite3 *db, const struct row_table *table, row_visit_fn *visit, void *arg)
{
	struct row_blocks blocks;
	struct row_block block = { 0 };
	int err = row_blocks_open(db, table, &blocks);

	for (size_t i = 0; i < blocks.nplaces && !err; i++)
		err = row_blocks_read(&blocks, i, &block) ?: visit_block(&block, visit, arg);
	row_block_fini(&block);
	row_blocks_close(&blocks);
	return err;
}

int row_table_visit(sqlite3 *db, const char *name, const char *sql, row_visit_fn *visit, void *arg)
{
	const struct row_table *table = row_tables;

	while (strcmp(table->name, name))
		table++;
	return row_blocks_exist(db, name) ? visit_blocks(db, table, visit, arg)
					  : visit_rows(db, sql, visit, arg);
}
