/*
 * Writing an anonymised trace
 *
 * Each table is copied row by row, each column according to the list (identity.c). A column that is
 * not in the list is an error: a new one must be reviewed before it may leave a machine.
 */
#include "core/store/anonymise/anonymise.h"

#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/anonymise/replace.h"
#include "core/store/chunk/payload.h"
#include "core/store/chunk/tables.h"
#include "core/store/db/call_pack.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/file.h"
#include "core/store/db/schema.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/functions.h"
#include "core/wire/log.h"

enum { COLUMNS = 64 };

struct anonymise {
	sqlite3 *from, *to;
	struct substitutes *substitutes;
	bool plain;                   /* @from is unpacked */
	struct payload_rows payloads; /* of the chunk that is being copied */
};

/* A table that is being copied. */
struct copied_table {
	const char *name;
	enum identity identities[COLUMNS];
	int n;
	/* the column that determines the kind of this column: a verb, a kind, a key; -1: none */
	int by;
	sqlite3_stmt *in, *out;
};

static int bind_text(struct copied_table *t, int i, const struct text *text)
{
	if (text->failed)
		return log_err(-ENOMEM, "anonymise");
	sqlite3_bind_text(t->out, i + 1, text->at ? text->at : "", (int)text->used,
			  SQLITE_TRANSIENT);
	return 0;
}

static int put_text(struct anonymise *a, struct copied_table *t, int i, enum identity identity)
{
	const char *from = (const char *)sqlite3_column_text(t->in, i);
	struct text text = { 0 };
	int err = 0;

	if (from && replace_text(a->substitutes, identity, from, &text))
		err = bind_text(t, i, &text);
	else
		sqlite3_bind_null(t->out, i + 1);
	text_fini(&text);
	return err;
}

/* Copy a chunk of payloads: lengths do not change, and equal hashes remain equal. */
static int put_chunk(struct anonymise *a, struct copied_table *t, int i)
{
	struct payload_rows *rows = &a->payloads;
	uint8_t *data;
	size_t size;
	int err = payload_unpack(sqlite3_column_blob(t->in, i),
				 (size_t)sqlite3_column_bytes(t->in, i), rows);

	if (err == -EBADMSG)
		return log_why(-EINVAL, "%s is damaged: a chunk of payloads",
			       sqlite3_db_filename(a->from, "main"));
	if (err)
		return log_err(err, "anonymise payloads");
	for (size_t k = 0; k < rows->nrows; k++)
		rows->rows[k].hash =
			substitute_number(a->substitutes, SUBSTITUTE_HASH, rows->rows[k].hash, 64);
	if (rows->used)
		memset(rows->bytes, 0, rows->used);
	if (payload_pack(rows, &data, &size))
		return log_err(-ENOMEM, "anonymise payloads");
	sqlite3_bind_blob64(t->out, i + 1, data, size, free);
	return 0;
}

/* Copy the result of ibv_get_device_guid(), which is in network order. */
static void put_returned(struct anonymise *a, struct copied_table *t, int i)
{
	const char *name = (const char *)sqlite3_column_text(t->in, t->by);
	int verb = name ? verb_find(name) : -1;
	uint64_t value = (uint64_t)sqlite3_column_int64(t->in, i);

	if (verb >= 0 && identity_is_needed(&verb_infos[verb].ret)) {
		value = bswap_64(value);
		value = (uint64_t)replace_number(a->substitutes, IDENTITY_GUID, (int64_t)value);
		value = bswap_64(value);
	}
	sqlite3_bind_int64(t->out, i + 1, (int64_t)value);
}

/* The identity of the value, if another column determines it. */
static enum identity resolve_identity(const struct copied_table *t, enum identity identity)
{
	const char *by = t->by < 0 ? NULL : (const char *)sqlite3_column_text(t->in, t->by);

	if (identity == IDENTITY_META)
		return identity_of_meta(by ? by : "");
	if (identity == IDENTITY_OBJECT)
		return by && !strcmp(by, "device") ? IDENTITY_DEVICE : IDENTITY_NONE;
	return identity;
}

static int put_column(struct anonymise *a, struct copied_table *t, int i)
{
	enum identity identity = resolve_identity(t, t->identities[i]);
	int type = sqlite3_column_type(t->in, i);

	if (identity == IDENTITY_NONE || type == SQLITE_NULL) {
		sqlite3_bind_value(t->out, i + 1, sqlite3_column_value(t->in, i));
		return 0;
	}
	if (identity == IDENTITY_CHUNK)
		return put_chunk(a, t, i);
	if (identity == IDENTITY_BYTES) {
		sqlite3_bind_zeroblob(t->out, i + 1, sqlite3_column_bytes(t->in, i));
		return 0;
	}
	if (type == SQLITE_INTEGER && identity == IDENTITY_RETURNED) {
		put_returned(a, t, i);
		return 0;
	}
	if (type == SQLITE_INTEGER && (identity == IDENTITY_GUID || identity == IDENTITY_HASH)) {
		sqlite3_bind_int64(
			t->out, i + 1,
			replace_number(a->substitutes, identity, sqlite3_column_int64(t->in, i)));
		return 0;
	}
	return put_text(a, t, i, identity); /* any column may hold a text */
}

/* Does the list drop the row? It also drops rows of meta whose key it does not have. */
static bool is_dropped(const struct copied_table *t)
{
	for (int i = 0; i < t->n; i++)
		if (t->identities[i] == IDENTITY_DROPPED ||
		    resolve_identity(t, t->identities[i]) == IDENTITY_UNKNOWN)
			return true;
	return false;
}

static int put_row(struct anonymise *a, struct copied_table *t)
{
	int err = 0, code;

	for (int i = 0; i < t->n && !err; i++)
		err = put_column(a, t, i);
	if (err)
		return err;
	code = sqlite3_step(t->out);
	sqlite3_reset(t->out);
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_CONSTRAINT && code != SQLITE_MISMATCH)
		return sql_fail(a->to, "anonymise");
	return log_why(-EINVAL, "%s is damaged: table %s contains an invalid row",
		       sqlite3_db_filename(a->from, "main"), t->name);
}

static bool is_key(const char *column)
{
	static const char *const keys[] = { "verb", "kind", "key" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(column, keys[i]))
			return true;
	return false;
}

/* Find the identity of each column of the new table, and write the SELECT and the INSERT. */
static int list_columns(struct anonymise *a, struct copied_table *t, struct text *select,
			struct text *insert)
{
	sqlite3_stmt *columns;
	char sql[96];
	int err;

	sqlite3_snprintf(sizeof(sql), sql, "PRAGMA table_info(%s)", t->name);
	err = sql_prepare(a->to, sql, &columns);
	while (!err && (err = sql_step(columns)) > 0) {
		const char *column = (const char *)sqlite3_column_text(columns, 1);
		enum identity identity = identity_of_column(t->name, column);

		err = 0;
		if (identity == IDENTITY_UNKNOWN || t->n == COLUMNS)
			err = log_why(-ENOTSUP,
				      "anonymise: it is unknown whether %s.%s could identify you",
				      t->name, column);
		text_addf(select, "%s%s", t->n ? ", " : "SELECT ", column);
		text_addf(insert, "%s%s", t->n ? ", " : "", column);
		if (is_key(column))
			t->by = t->n;
		if (!err)
			t->identities[t->n++] = identity;
	}
	sqlite3_finalize(columns);
	return err;
}

static int prepare_table(struct anonymise *a, struct copied_table *t)
{
	struct text select = { 0 }, columns = { 0 }, insert = { 0 };
	int err = list_columns(a, t, &select, &columns);

	text_addf(&select, " FROM %s", functions_source(t->name));
	text_addf(&insert, "INSERT INTO %s(%s) VALUES(", t->name, columns.at ? columns.at : "");
	for (int i = 0; i < t->n; i++)
		text_addf(&insert, i ? ", ?" : "?");
	text_addf(&insert, ")");
	if (!err && (select.failed || columns.failed || insert.failed))
		err = log_err(-ENOMEM, "anonymise");
	if (!err)
		err = sql_prepare(a->from, select.at, &t->in);
	if (!err)
		err = sql_prepare(a->to, insert.at, &t->out);
	text_fini(&select);
	text_fini(&columns);
	text_fini(&insert);
	return err;
}

/* Is there a table @name in the file itself? Virtual tables are not copied. 1, 0 or -errno. */
static int has_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *stmt;
	int found = sql_prepare(db,
				"SELECT 1 FROM main.sqlite_master WHERE type = 'table'"
				" AND name = ?",
				&stmt);

	if (found < 0)
		return found;
	sql_bind(stmt, "t", name);
	found = sql_step(stmt);
	sqlite3_finalize(stmt);
	return found;
}

static int copy_table(struct anonymise *a, const char *name)
{
	struct copied_table t = { .name = name, .by = -1 };
	int err = has_table(a->from, name);

	if (err <= 0) /* the table is missing (an older format), or an error */
		return err;
	err = prepare_table(a, &t);
	while (!err && (err = sql_step(t.in)) > 0)
		err = is_dropped(&t) ? 0 : put_row(a, &t) ?: substitutes_error(a->substitutes);
	sqlite3_finalize(t.in);
	sqlite3_finalize(t.out);
	return err;
}

/* An unpacked trace has the tables of the data plane, too. */
static int make_plain(struct anonymise *a)
{
	int err = 0;

	for (int i = 0; i < TABLES && !err; i++) {
		struct text sql = { 0 };

		err = has_table(a->from, tables[i].name);
		if (err <= 0)
			continue;
		a->plain = true;
		text_addf(&sql, "CREATE TABLE ");
		table_declare(&tables[i], true, &sql);
		err = sql.failed ? log_err(-ENOMEM, "anonymise") : sql_exec(a->to, sql.at);
		text_fini(&sql);
	}
	return err;
}

static int copy_tables(struct anonymise *a)
{
	sqlite3_stmt *names;
	int err = sql_prepare(a->to,
			      "SELECT name FROM sqlite_master WHERE type = 'table'"
			      " AND name NOT LIKE 'sqlite%' ORDER BY rowid",
			      &names);

	while (!err && (err = sql_step(names)) > 0) {
		char name[64];

		snprintf(name, sizeof(name), "%s", (const char *)sqlite3_column_text(names, 0));
		err = copy_table(a, name);
	}
	sqlite3_finalize(names);
	return err;
}

static int fill_trace(struct anonymise *a)
{
	int err = schema_create_part(a->to);

	if (!err)
		err = make_plain(a);
	if (!err && !a->plain)
		err = call_pack_begin(a->to) ?: row_tables_begin(a->to);
	if (!err)
		err = copy_tables(a);
	if (!err)
		err = schema_set_meta(a->to, "anonymised", "yes");
	if (!err && !a->plain)
		err = call_pack_end(a->to) ?: row_tables_end(a->to, ROW_TABLE_LEAST);
	if (!err)
		err = schema_complete(a->to);
	return err ? err : sql_exec(a->to, "COMMIT");
}

static int write_part_file(struct anonymise *a, const char *beside)
{
	int err = sql_open(beside, SQLITE_OPEN_READWRITE, &a->to);

	if (!err)
		err = substitutes_new(&a->substitutes);
	if (!err)
		err = fill_trace(a);
	sqlite3_close(a->to);
	substitutes_free(a->substitutes);
	payload_rows_fini(&a->payloads);
	return err;
}

int anonymise_write(struct trace *trace, const char *to)
{
	struct anonymise a = { .from = trace_db(trace) };
	char beside[FILE_BESIDE];
	int err = file_make_beside(to, beside);

	if (err)
		return err;
	err = write_part_file(&a, beside);
	if (!err)
		err = file_replace(beside, to, true);
	if (err)
		file_remove(beside);
	return err;
}
