#include <errno.h>
#include <sqlite3.h>

#include "core/store/open.h"
#include "core/store/db/file.h"
#include "core/store/unpack.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256], plain[256];

static int make_trace(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("schema.db"));
	snprintf(plain, sizeof(plain), "%s", make_path("plain.db"));
	return make_sends(path, 1) || trace_unpack(path, plain);
}

static int remove_trace(void **state)
{
	(void)state;
	file_remove(path);
	file_remove(plain);
	return 0;
}

static int open_it(const char *name)
{
	struct trace *trace;
	int err = trace_open(name, &trace);

	if (!err)
		trace_close(trace);
	return err;
}

static void change_schema(const char *name, const char *sql)
{
	sqlite3 *db;
	char *error = NULL;

	assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
	sqlite3_exec(db, sql, NULL, NULL, &error);
	if (error)
		fail_msg("%s: %s", sql, error);
	sqlite3_close(db);
}

FIXTURE(make_trace, remove_trace);

TEST(what_we_make_is_ours)
{
	assert_int_equal(open_it(path), 0);
	assert_int_equal(open_it(plain), 0);
	change_schema(plain, "CREATE INDEX process_pid ON process(pid); VACUUM");
	assert_int_equal(open_it(plain), 0);
}

/* A reader of our tables would execute, or trust, each of these. */
static const char *const strange[] = {
	"CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM call; END",
	"CREATE VIEW v AS SELECT * FROM json_each('[1]')",
	"CREATE VIEW coming AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r)"
	" SELECT n FROM r",
	"CREATE VIRTUAL TABLE f USING fts5(x)",
	"CREATE TABLE t(x)",
	"CREATE INDEX strange ON call(abs(ret))",
	"CREATE UNIQUE INDEX call_ret ON call(thread, n)",
	"ALTER TABLE thread ADD COLUMN x AS (hex(zeroblob(1000000)))",
	"ALTER TABLE thread ADD COLUMN x DEFAULT 1",
	"DROP TABLE loss; CREATE VIEW loss AS SELECT 1 AS events, 1 AS overwritten, 1 AS last",
	"DROP TABLE mark; CREATE TABLE mark(thread, n, process, time, kind, text)",
	"PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, 'tid INTEGER',"
	" 'tid INTEGER CHECK(length(hex(tid)))') WHERE name = 'thread'",
	"PRAGMA writable_schema=ON; INSERT INTO sqlite_master VALUES('table', 'x', 'x', 0,"
	" 'CREATE VIRTUAL TABLE x USING json_each')",
};

TEST(anything_else_is_refused)
{
	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		const char *names[] = { path, plain };

		for (int n = 0; n < 2; n++) {
			change_schema(names[n], strange[i]);
			if (open_it(names[n]) != -EPROTO)
				fail_msg("%s was opened after: %s", names[n], strange[i]);
		}
		remove_trace(NULL);
		make_trace(NULL);
	}
}

/* Completing a trace writes to it, which must not run anything in the schema. */
TEST(unfinished_trace_is_refused_likewise)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;

	change_schema(path, "UPDATE meta SET value = 'recording' WHERE key = 'state';"
			    "DELETE FROM meta WHERE key = 'recorder';"
			    "CREATE TRIGGER t AFTER UPDATE ON process BEGIN DELETE FROM call; END");
	assert_int_equal(open_it(path), -EPROTO);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM call", -1, &stmt, NULL), 0);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_true(sqlite3_column_int(stmt, 0) > 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}
