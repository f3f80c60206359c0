/*
 * Packing the calls of a trace that is written row by row
 *
 *	temp.call, temp.ref  ->  main.call, main.ref: first calls of each shape, irregular ones
 *	                     ->  main.call_chunk:     the others
 *
 * Irregular: a row that the recorder would not have written, such as one without an end, or with a
 * text in a column of numbers.
 */
#include "core/store/db/call_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/chunk/call_batch.h"
#include "core/store/db/schema.h"
#include "core/wire/log.h"

/* Columns of table `call`, and of `ref` after thread and n. */
enum { THREAD, N, PROCESS, VERB, BEGIN, END, RET, ERROR, FAILED, DEPTH, OURS, STACK, OBJECT };
enum { ARGS = OBJECT + 1, OUT, HANDLE, END_N, COLUMNS };
enum { REF_PATH = 2, REF_KIND, REF_HANDLE, REF_OBJECT };

struct pack {
	sqlite3_stmt *calls, *refs, *put_call, *drop_refs, *put_block;
	struct map shapes; /* by hash: number of calls of that shape so far, up to CALLS_PLAIN */
	struct call_shape shape;
	struct call_batch *batch;
	uint32_t thread; /* thread of the batch */
	struct ref_row *rows;
	size_t nrows, size;
	struct text texts; /* of @rows */
	struct shapes_packer packer;
	bool odd; /* the current call is irregular: it must be a row */
};

int call_pack_begin(sqlite3 *db)
{
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "CREATE TEMP TABLE call(%s;", schema_columns("call"));
	text_addf(&sql, "CREATE TEMP TABLE ref(%s;", schema_columns("ref"));
	err = sql.failed ? log_err(-ENOMEM, "pack calls") : sql_exec(db, sql.at);
	text_fini(&sql);
	return err;
}

/* Read a number of the current row. NULL is read as 0 if @null_is_0: then 0 is written as NULL. */
static int64_t read_number(struct pack *pack, sqlite3_stmt *stmt, int column, bool null_is_0)
{
	int type = sqlite3_column_type(stmt, column);
	int64_t value = sqlite3_column_int64(stmt, column);

	if (type == SQLITE_NULL)
		pack->odd |= !null_is_0;
	else
		pack->odd |= type != SQLITE_INTEGER || (null_is_0 && !value);
	return value;
}

static int64_t read_bounded(struct pack *pack, int column, bool null_is_0, int64_t most)
{
	int64_t value = read_number(pack, pack->calls, column, null_is_0);

	pack->odd |= value < 0 || value > most;
	return value;
}

/* Read a text; if it is NULL and not @optional, the call must be a row. */
static const char *read_text(struct pack *pack, sqlite3_stmt *stmt, int column, bool optional)
{
	int type = sqlite3_column_type(stmt, column);
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	pack->odd |= type != SQLITE_TEXT && !(optional && type == SQLITE_NULL);
	pack->odd |= text && strlen(text) != (size_t)sqlite3_column_bytes(stmt, column);
	return text || optional ? text : "";
}

static struct call_row read_call(struct pack *pack)
{
	sqlite3_stmt *stmt = pack->calls;

	return (struct call_row){
		.n = (uint64_t)read_bounded(pack, N, false, INT64_MAX),
		.verb = read_text(pack, stmt, VERB, false),
		.begin = read_number(pack, stmt, BEGIN, false),
		.end = read_number(pack, stmt, END, false),
		.ret = read_number(pack, stmt, RET, false),
		.error = read_number(pack, stmt, ERROR, false),
		.failed = read_bounded(pack, FAILED, false, 1),
		.depth = (uint32_t)read_bounded(pack, DEPTH, false, UINT32_MAX),
		.ours = read_bounded(pack, OURS, false, 1),
		.stack = (uint32_t)read_bounded(pack, STACK, true, UINT32_MAX),
		.object = (uint32_t)read_bounded(pack, OBJECT, true, UINT32_MAX),
		.args = read_text(pack, stmt, ARGS, true),
		.out = read_text(pack, stmt, OUT, true),
		.handle = (uint64_t)read_number(pack, stmt, HANDLE, true),
		.end_n = (uint64_t)read_bounded(pack, END_N, false, INT64_MAX),
	};
}

static int read_ref(struct pack *pack)
{
	struct ref_row *row;
	int64_t object = read_number(pack, pack->refs, REF_OBJECT, true);

	if (vec_reserve(pack->rows, pack->size, pack->nrows + 1))
		return -ENOMEM;
	pack->odd |= object < 0 || object > UINT32_MAX;
	row = &pack->rows[pack->nrows++];
	row->handle = (uint64_t)read_number(pack, pack->refs, REF_HANDLE, false);
	row->object = (uint32_t)object;
	for (int i = REF_PATH; i <= REF_KIND; i++) {
		const char *text = read_text(pack, pack->refs, i, false);

		text_add(&pack->texts, text, strlen(text) + 1);
	}
	return pack->texts.failed ? -ENOMEM : 0;
}

/* Read the references of the current call. */
static int read_refs(struct pack *pack, struct call_row *row)
{
	const char *text;
	int err;

	pack->nrows = 0;
	text_cut(&pack->texts, 0);
	sql_bind(pack->refs, "ui", pack->thread, row->n);
	while ((err = sql_step(pack->refs)) > 0)
		if (read_ref(pack)) {
			err = log_err(-ENOMEM, "pack calls");
			break;
		}
	sqlite3_reset(pack->refs);
	text = pack->texts.at;
	for (size_t i = 0; i < pack->nrows && !err; i++) {
		pack->rows[i].path = text;
		pack->rows[i].kind = text + strlen(text) + 1;
		text = pack->rows[i].kind + strlen(pack->rows[i].kind) + 1;
	}
	row->refs = pack->rows;
	row->nrefs = pack->nrows;
	return err;
}

static int store_block(struct pack *pack)
{
	const struct call_extent *e = call_batch_extent(pack->batch);
	int err;

	if (!e->calls)
		return 0;
	err = call_batch_pack(pack->batch, &pack->packer);
	err = err ? log_err(err, "pack calls")
		  : sql_run(pack->put_block, "uiiiiuiuub", pack->thread, e->first_n, e->last_n,
			    e->begin, e->end, e->calls, e->verbs, e->least, e->most,
			    pack->packer.block.at, pack->packer.block.used);
	call_batch_clear(pack->batch);
	return err;
}

/* Are there already CALLS_PLAIN rows of the call's shape? 1, 0 or -ENOMEM. */
static int is_repeated(struct pack *pack)
{
	uint64_t n = 0;
	bool known = map_get(&pack->shapes, pack->shape.hash, &n);

	if (n >= CALLS_PLAIN)
		return 1;
	return known || pack->shapes.used < CALL_SHAPES_MAX
		       ? map_put(&pack->shapes, pack->shape.hash, n + 1)
		       : 0;
}

/* Add the call to the batch. Returns 1; 0: it must be a row; or -errno. */
static int add_call(struct pack *pack, const struct call_row *row)
{
	int err = call_shape_read(&pack->shape, row) ?: is_repeated(pack);

	if (err <= 0)
		return err;
	err = call_batch_add(pack->batch, &pack->shape, row);
	if (err)
		return err == -E2BIG ? 0 : err;
	err = sql_run(pack->drop_refs, "ui", pack->thread, row->n);
	if (!err && call_batch_is_full(pack->batch))
		err = store_block(pack);
	return err ? err : 1;
}

static int copy_call(struct pack *pack)
{
	for (int i = 0; i < COLUMNS; i++)
		sqlite3_bind_value(pack->put_call, i + 1, sqlite3_column_value(pack->calls, i));
	return sql_run(pack->put_call, "");
}

static int take_call(struct pack *pack)
{
	struct call_row row;
	uint32_t thread;
	int err = 0;

	pack->odd = false;
	thread = (uint32_t)read_bounded(pack, THREAD, false, UINT32_MAX);
	row = read_call(pack);
	if (thread != pack->thread)
		err = store_block(pack);
	pack->thread = thread;
	if (!err && !pack->odd)
		err = read_refs(pack, &row);
	if (!err && !pack->odd)
		err = add_call(pack, &row);
	return err < 0 ? err : err ? 0 : copy_call(pack);
}

static int prepare_pack(struct pack *pack, sqlite3 *db)
{
	pack->batch = call_batch_new();
	if (!pack->batch)
		return log_err(-ENOMEM, "pack calls");
	return sql_prepare(db, "SELECT * FROM temp.call ORDER BY thread, n", &pack->calls)
		       ?: sql_prepare(db,
				      "SELECT * FROM temp.ref WHERE thread = ? AND n = ?"
				      " ORDER BY path",
				      &pack->refs)
		       ?: sql_prepare(db,
				      "INSERT INTO main.call VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
				      " ?, ?, ?, ?, ?, ?, ?)",
				      &pack->put_call)
		       ?: sql_prepare(db, "DELETE FROM temp.ref WHERE thread = ? AND n = ?",
				      &pack->drop_refs)
		       ?: sql_prepare(db,
				      "INSERT INTO main.call_chunk VALUES(?, ?, ?, ?, ?, ?, ?, ?,"
				      " ?, ?)",
				      &pack->put_block);
}

static void finish_pack(struct pack *pack)
{
	sqlite3_finalize(pack->calls);
	sqlite3_finalize(pack->refs);
	sqlite3_finalize(pack->put_call);
	sqlite3_finalize(pack->drop_refs);
	sqlite3_finalize(pack->put_block);
	map_fini(&pack->shapes);
	call_shape_fini(&pack->shape);
	call_batch_free(pack->batch);
	free(pack->rows);
	text_fini(&pack->texts);
	shapes_packer_fini(&pack->packer);
}

int call_pack_end(sqlite3 *db)
{
	struct pack pack = { 0 };
	int err = prepare_pack(&pack, db);

	while (!err && (err = sql_step(pack.calls)) > 0)
		err = take_call(&pack);
	if (!err)
		err = store_block(&pack);
	finish_pack(&pack);
	if (err == -ENOMEM)
		return log_err(err, "pack calls");
	return err ? err : sql_exec(db, "INSERT INTO main.ref SELECT * FROM temp.ref");
}
