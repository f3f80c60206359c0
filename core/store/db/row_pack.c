/*
 * Packing tables of many rows that differ in a few numbers
 *
 *	temp.object  ->  main.object:     few rows
 *	             ->  main.row_chunk:  many rows, in blocks, in the order of the key
 *
 * Not here: reading (row_tables.c).
 */
#include <errno.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/db/row_blocks.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/schema.h"
#include "core/wire/log.h"

struct pack {
	const char *table;
	int64_t blocks;      /* number of blocks written so far */
	int64_t first, last; /* first and last value of the first column in the batch */
	struct row_batch batch;
	struct shapes_packer packer;
	sqlite3_stmt *rows, *put_block;
};

static int run_each(sqlite3 *db, const char *format)
{
	int err = 0;

	for (const struct row_table *t = row_tables; t->name && !err; t++) {
		struct text sql = { 0 };

		text_addf(&sql, format, t->name, t->name, t->name);
		err = sql.failed ? log_err(-ENOMEM, "pack rows") : sql_exec(db, sql.at);
		text_fini(&sql);
	}
	return err;
}

int row_tables_begin(sqlite3 *db)
{
	int err = 0;

	for (const struct row_table *t = row_tables; t->name && !err; t++) {
		struct text sql = { 0 };

		text_addf(&sql, "CREATE TEMP TABLE %s(%s", t->name, schema_columns(t->name));
		err = sql.failed ? log_err(-ENOMEM, "pack rows") : sql_exec(db, sql.at);
		text_fini(&sql);
	}
	return err
		       ?: run_each(db, "INSERT INTO temp.%s SELECT * FROM main.%s;"
				       "DELETE FROM main.%s");
}

static int store_block(struct pack *pack)
{
	int err;

	if (!pack->batch.rows)
		return 0;
	err = row_batch_pack(&pack->batch, &pack->packer);
	err = err ? log_err(err, "pack rows")
		  : sql_run(pack->put_block, "tiiiub", pack->table, pack->blocks++, pack->first,
			    pack->last, pack->batch.rows, pack->packer.block.at,
			    pack->packer.block.used);
	row_batch_clear(&pack->batch);
	return err;
}

/* Add the current row. 0, -EDOM: the table cannot be packed, or -errno after log_err(). */
static int take_row(struct pack *pack)
{
	struct row_value values[ROW_COLUMNS_MAX];
	int n = sqlite3_column_count(pack->rows);

	for (int i = 0; i < n; i++) {
		values[i] = row_value_read(pack->rows, i);
		if (values[i].kind == ROW_KINDS || (!i && values[i].kind != ROW_NUMBER))
			return -EDOM;
	}
	if (!pack->batch.rows)
		pack->first = values[0].number;
	pack->last = values[0].number;
	if (row_batch_add(&pack->batch, values, (uint32_t)n))
		return log_err(-ENOMEM, "pack rows");
	return row_batch_is_full(&pack->batch) ? store_block(pack) : 0;
}

/* Find the columns of times: a bit for each. */
static uint64_t find_times(const struct row_table *table, sqlite3_stmt *rows)
{
	uint64_t times = 0;

	for (int i = 0; i < sqlite3_column_count(rows); i++)
		for (int k = 0; k < 2; k++)
			if (table->times[k] &&
			    !strcmp(sqlite3_column_name(rows, i), table->times[k]))
				times |= UINT64_C(1) << i;
	return times;
}

static int pack_table(sqlite3 *db, const struct row_table *table)
{
	struct pack pack = { .table = table->name };
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "SELECT * FROM temp.%s ORDER BY %s", table->name, table->key);
	err = sql.failed ? log_err(-ENOMEM, "pack rows") : sql_prepare(db, sql.at, &pack.rows);
	if (!err)
		err = sql_prepare(db, "INSERT INTO main.row_chunk VALUES(?, ?, ?, ?, ?, ?)",
				  &pack.put_block);
	if (!err)
		pack.batch.times = find_times(table, pack.rows);
	while (!err && (err = sql_step(pack.rows)) > 0)
		err = take_row(&pack);
	err = err ?: store_block(&pack);
	sqlite3_finalize(pack.rows);
	sqlite3_finalize(pack.put_block);
	text_fini(&sql);
	row_batch_fini(&pack.batch);
	shapes_packer_fini(&pack.packer);
	return err;
}

static int drop_blocks(sqlite3 *db, const struct row_table *table)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db, "DELETE FROM main.row_chunk WHERE name = ?", &stmt);

	err = err ?: sql_run(stmt, "t", table->name);
	sqlite3_finalize(stmt);
	return err;
}

static int copy_table(sqlite3 *db, const struct row_table *table)
{
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "INSERT INTO main.%s SELECT * FROM temp.%s ORDER BY %s", table->name,
		  table->name, table->key);
	err = sql.failed ? log_err(-ENOMEM, "pack rows") : sql_exec(db, sql.at);
	text_fini(&sql);
	return err;
}

/* Must the table be packed? A trace of an older format has no blocks. */
static bool is_packed(sqlite3 *db, const struct row_table *table, int64_t least)
{
	char sql[80];

	if (!sql_has_table(db, "row_chunk"))
		return false;
	sqlite3_snprintf(sizeof(sql), sql, "SELECT count(*) FROM temp.%s", table->name);
	return sql_int(db, sql, 0) >= least;
}

int row_tables_end(sqlite3 *db, int64_t least)
{
	int err = 0;

	for (const struct row_table *t = row_tables; t->name && !err; t++) {
		err = is_packed(db, t, least) ? pack_table(db, t) : copy_table(db, t);
		if (err == -EDOM)
			err = drop_blocks(db, t) ?: copy_table(db, t);
	}
	return err ?: run_each(db, "DROP TABLE temp.%s") ?: row_tables_create(db);
}
