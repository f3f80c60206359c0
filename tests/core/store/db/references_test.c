/*
 * Columns that name a row of another table, and numbers that do not
 */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>

#include "core/store/db/file.h"
#include "core/store/db/references.h"
#include "core/store/open.h"
#include "core/wire/log.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];

static int make_trace(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("references.db"));
	return make_sends(path, 1);
}

static int remove_trace(void **state)
{
	(void)state;
	file_remove(path);
	return 0;
}

static sqlite3 *open_trace(void)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	return db;
}

static void exec_sql(sqlite3 *db, const char *format, ...)
{
	char *sql, *error = NULL;
	va_list args;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	sqlite3_exec(db, sql, NULL, NULL, &error);
	if (error)
		fail_msg("%s: %s", sql, error);
	sqlite3_free(sql);
}

static int count_rows(sqlite3 *db, const char *table)
{
	sqlite3_stmt *stmt;
	char sql[64];
	int n;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return n;
}

/* Column @i, and the number of columns. */
static int find_column(sqlite3 *db, const char *table, int i, char name[64])
{
	sqlite3_stmt *stmt;
	char sql[64];
	int n;

	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	n = sqlite3_column_count(stmt);
	snprintf(name, 64, "%s", i < n ? sqlite3_column_name(stmt, i) : "");
	sqlite3_finalize(stmt);
	return n;
}

/* A row of ones, if the trace has none. */
static void need_row(sqlite3 *db, const char *table)
{
	char ones[256] = "1", name[64];

	if (count_rows(db, table))
		return;
	for (int n = find_column(db, table, 0, name); n > 1; n--)
		strcat(ones, ", 1");
	exec_sql(db, "INSERT INTO %s VALUES(%s)", table, ones);
}

static int check_with(const char *table, const char *column, const char *value)
{
	sqlite3 *db = open_trace();
	char sql[256];
	int err;

	exec_sql(db, "BEGIN");
	need_row(db, table);
	snprintf(sql, sizeof(sql), "UPDATE OR REPLACE %s SET %s = %s", table, column, value);
	/* a rowid cannot be a text */
	err = sqlite3_exec(db, sql, NULL, NULL, NULL) ? -EINVAL : references_check(db);
	exec_sql(db, "ROLLBACK");
	sqlite3_close(db);
	return err;
}

FIXTURE(make_trace, remove_trace);

/* By their names: a new column with one of these is in the list. */
TEST(each_column_that_names_a_row_has_a_letter)
{
	static const char names[] = " process thread object stack module device parent child cq mr"
				    " other fork_thread created_thread destroyed_thread ";
	sqlite3_stmt *stmt;
	sqlite3 *db = open_trace();

	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "SELECT t.name, c.name, c.cid FROM sqlite_master t,"
				   " pragma_table_info(t.name) c WHERE t.type = 'table'"
				   " AND c.type = 'INTEGER' AND instr(?, ' ' || c.name || ' ')",
				   -1, &stmt, NULL),
		SQLITE_OK);
	sqlite3_bind_text(stmt, 1, names, -1, SQLITE_STATIC);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(stmt, 0);
		size_t i = (size_t)sqlite3_column_int(stmt, 2);
		const struct references *from = references;

		while (from->table && strcmp(from->table, table) != 0)
			from++;
		if (!from->table || i >= strlen(from->columns) || from->columns[i] == '_')
			fail_msg("%s.%s has no letter", table, sqlite3_column_text(stmt, 1));
	}
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

TEST(a_number_far_beyond_all_rows_is_refused)
{
	static const char *const values[] = { "-1",    "(1 << 31) - 1",       "1 << 32",
					      "1e300", "9223372036854775807", "'text'",
					      "x'00'" };
	char column[64];

	log_silence(true);
	for (const struct references *from = references; from->table; from++)
		for (int i = 0; from->columns[i]; i++) {
			sqlite3 *db = open_trace();

			find_column(db, from->table, i, column);
			sqlite3_close(db);
			if (strchr("_T", from->columns[i]) || !strcmp(column, "id"))
				continue;
			for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++)
				if (check_with(from->table, column, values[v]) != -EINVAL)
					fail_msg("%s.%s = %s", from->table, column, values[v]);
			if (check_with(from->table, column, "0"))
				fail_msg("%s.%s = 0", from->table, column);
		}
	log_silence(false);
}

TEST(a_thread_of_a_process_that_is_not_there_is_refused)
{
	struct trace *trace;
	sqlite3 *db = open_trace();

	exec_sql(db, "UPDATE thread SET process = (SELECT max(id) + 1 FROM process)");
	sqlite3_close(db);
	assert_int_equal(trace_open(path, &trace), -EINVAL);
}

/* As in an excerpt of an older verbatim. */
TEST(an_object_that_is_not_there_is_unknown)
{
	const struct trace_event *event;
	struct cursor *cursor;
	struct trace *trace;
	sqlite3 *db = open_trace();
	int calls = 0;

	exec_sql(db, "UPDATE call SET object = (SELECT max(id) + 1 FROM object), stack = 7");
	sqlite3_close(db);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) > 0)
		if (event->kind == TRACE_CALL) {
			assert_int_equal(event->call->object, 0);
			calls++;
		}
	assert_true(calls > 0);
	cursor_close(cursor);
	trace_close(trace);
}

/* The rows of the object are compared when they are loaded. */
TEST(an_object_that_refers_to_no_row_is_refused_when_the_trace_is_opened)
{
	static const char *const columns[] = { "process", "parent", "created_thread",
					       "destroyed_thread" };
	struct trace *trace;

	log_silence(true);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		sqlite3 *db;

		assert_int_equal(make_sends(path, 1), 0);
		db = open_trace();
		exec_sql(db, "UPDATE object SET %s = 1 << 30 WHERE id = 2", columns[i]);
		sqlite3_close(db);
		assert_int_equal(trace_open(path, &trace), -EINVAL);
	}
	log_silence(false);
}

/* The calls are checked by a thread while the objects are loaded. */
TEST(a_call_of_many_that_refers_to_no_row_is_refused_when_the_trace_is_opened)
{
	static const char *const updates[] = { "UPDATE call SET stack = stack",
					       "UPDATE call SET object = 1 << 30",
					       "UPDATE ref SET object = -1" };

	log_silence(true);
	for (size_t i = 0; i < sizeof(updates) / sizeof(*updates); i++) {
		struct trace *trace = NULL;
		sqlite3 *db;

		assert_int_equal(make_sends(path, 1), 0);
		db = open_trace();
		exec_sql(db, "WITH RECURSIVE n(i) AS (SELECT max(id) + 1 FROM object UNION ALL"
			     " SELECT i + 1 FROM n WHERE i < 10000)"
			     " INSERT INTO object SELECT i, process, kind, i, 'x', handle, number,"
			     " rkey, parent, created_thread, created_n, destroyed_thread,"
			     " destroyed_n, created_at, destroyed_at FROM n, object WHERE id = 1");
		need_row(db, "ref");
		exec_sql(db, "%s", updates[i]);
		sqlite3_close(db);
		assert_int_equal(trace_open(path, &trace), i ? -EINVAL : 0);
		trace_close(trace);
	}
	log_silence(false);
}
