/*
 * Writing a copy of a trace with plain tables only
 *
 * The tables of the control plane are copied, those of the data plane are filled from the virtual
 * tables. The copy is a complete trace, and can be changed with UPDATE.
 */
#include "core/store/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "core/store/db/file.h"
#include "core/store/db/schema.h"
#include "core/store/chunk/tables.h"
#include "core/store/open.h"
#include "core/wire/log.h"

/* Prepare an INSERT with "?, ?, ..." for all columns of @from. */
static int prepare_insert(sqlite3 *to, const char *table, const char *columns, sqlite3_stmt *from,
			  sqlite3_stmt **ret_stmt)
{
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "INSERT INTO %s%s VALUES(", table, columns);
	for (int i = 0; i < sqlite3_column_count(from); i++)
		text_addf(&sql, i ? ", ?" : "?");
	text_addf(&sql, ")");
	err = sql.failed ? log_err(-ENOMEM, "unpack") : sql_prepare(to, sql.at, ret_stmt);
	text_fini(&sql);
	return err;
}

/*
 * Copy a row. The new tables have the same columns and were empty, so only a damaged row can fail.
 */
static int put_row(sqlite3_stmt *from, sqlite3_stmt *to, const char *table)
{
	int code = sqlite3_step(to);

	sqlite3_reset(to);
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_CONSTRAINT && code != SQLITE_MISMATCH)
		return sql_fail(sqlite3_db_handle(to), "unpack");
	return log_why(-EINVAL, "%s is damaged: table %s contains an invalid row",
		       sqlite3_db_filename(sqlite3_db_handle(from), "main"), table);
}

static int copy_rows(sqlite3_stmt *from, sqlite3_stmt *to, const char *table)
{
	int err;

	while ((err = sql_step(from)) > 0) {
		for (int i = 0; i < sqlite3_column_count(from); i++)
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i));
		err = put_row(from, to, table);
		if (err)
			return err;
	}
	return err;
}

/* Copy the rows of @select into @table; @columns is empty or "(a, b)". */
static int copy_query(sqlite3 *from, const char *select, sqlite3 *to, const char *table,
		      const char *columns)
{
	sqlite3_stmt *in = NULL, *out = NULL;
	int err = sql_prepare(from, select, &in);

	if (!err)
		err = prepare_insert(to, table, columns, in, &out);
	if (!err)
		err = copy_rows(in, out, table);
	sqlite3_finalize(in);
	sqlite3_finalize(out);
	return err;
}

static bool has_table(sqlite3 *db, const char *name)
{
	return sql_has_table(db, name);
}

static int copy_control(sqlite3 *from, sqlite3 *to)
{
	sqlite3_stmt *names;
	char select[256];
	int err =
		sql_prepare(to,
			    "SELECT name FROM sqlite_master WHERE type = 'table'"
			    " AND name NOT IN ('chunk', 'payload_chunk', 'call_chunk', 'row_chunk')"
			    " AND name NOT LIKE 'sqlite%'",
			    &names);

	while (!err && (err = sql_step(names)) > 0) {
		const char *name = (const char *)sqlite3_column_text(names, 0);

		err = 0;
		if (!has_table(from, name)) /* an older format lacks the table: schema_check() */
			continue;
		sqlite3_snprintf(sizeof(select), select, "SELECT * FROM %s", name);
		err = copy_query(from, select, to, name, "");
	}
	sqlite3_finalize(names);
	return err;
}

/* Fill a plain table of the data plane; the names of enumerators are generated columns. */
static int copy_table(sqlite3 *from, sqlite3 *to, const struct data_table *table)
{
	struct text create = { 0 }, columns = { 0 }, select = { 0 };
	int err;

	text_addf(&create, "CREATE TABLE ");
	table_declare(table, true, &create);
	for (const struct table_column *c = table->columns; c->name; c++)
		if (c->value != VALUE_NAME)
			text_addf(&columns, "%s%s", columns.used ? ", " : "(", c->name);
	text_addf(&columns, ")");
	if (create.failed || columns.failed) {
		err = log_err(-ENOMEM, "unpack");
		goto out;
	}
	text_addf(&select, "SELECT %.*s FROM %s", (int)columns.used - 2, columns.at + 1,
		  table->name);
	err = select.failed ? log_err(-ENOMEM, "unpack") : sql_exec(to, create.at);
	if (!err)
		err = copy_query(from, select.at, to, table->name, columns.at);
out:
	text_fini(&create);
	text_fini(&columns);
	text_fini(&select);
	return err;
}

static int fill_trace(sqlite3 *from, sqlite3 *to)
{
	int err = schema_create_part(to);

	if (!err)
		err = copy_control(from, to);
	for (int t = 0; t < TABLES && !err; t++)
		err = copy_table(from, to, &tables[t]);
	if (!err)
		err = schema_complete(to);
	return err ? err : sql_exec(to, "COMMIT");
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int write_part_file(struct trace *trace, const char *beside)
{
	sqlite3 *db = NULL;
	int err = sql_open(beside, SQLITE_OPEN_READWRITE, &db);

	if (!err)
		err = fill_trace(trace_db(trace), db);
	sqlite3_close(db);
	return err;
}

int trace_unpack(const char *from, const char *to)
{
	struct trace *trace;
	char beside[FILE_BESIDE];
	int err;

	if (same_file(from, to))
		return log_why(-EEXIST, "%s cannot be unpacked onto itself; choose another name",
			       from);
	err = trace_open(from, &trace);
	if (err)
		return err;
	err = file_make_beside(to, beside);
	if (err)
		goto out;
	err = write_part_file(trace, beside);
	if (!err)
		err = file_replace(beside, to, true);
	if (err)
		file_remove(beside);
out:
	trace_close(trace);
	return err;
}
