/*
 * The file that is in the program must be what SQLite makes of the same statements, and be
 * complete.
 */
#include <fcntl.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/store/db/blank.h"
#include "core/store/db/schema.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static sqlite3 *blank, *made;

static int open_both(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("blank.db"));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || blank_write(fd) || close(fd))
		return -1;
	return sqlite3_open(path, &blank) || sqlite3_open(":memory:", &made) || schema_create(made);
}

static int close_both(void **state)
{
	(void)state;
	sqlite3_close(blank);
	sqlite3_close(made);
	return unlink(path);
}

/* All rows of @sql, one after the other. */
static char *read_rows(sqlite3 *db, const char *sql)
{
	struct text rows = { 0 };
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			text_addf(&rows, "%s|", (const char *)sqlite3_column_text(stmt, i));
		text_addf(&rows, "\n");
	}
	sqlite3_finalize(stmt);
	return rows.at;
}

static void both_have(const char *sql)
{
	char *ours = read_rows(blank, sql), *theirs = read_rows(made, sql);

	assert_string_equal(ours, theirs);
	free(ours);
	free(theirs);
}

FIXTURE(open_both, close_both);

TEST(tables_are_those_that_sqlite_makes)
{
	both_have("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name");
	both_have("PRAGMA user_version");
	both_have("PRAGMA application_id");
	both_have("PRAGMA encoding");
}

TEST(sqlite_finds_no_damage)
{
	char *found = read_rows(blank, "PRAGMA integrity_check");

	assert_string_equal(found, "ok|\n");
	free(found);
}

/* Rows fill new pages; a table and an index are added, and the list of tables is searched. */
TEST(sqlite_continues_with_it)
{
	static const char sql[] =
		"BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
		" i < 3000) INSERT INTO environ SELECT i, 'name', hex(zeroblob(20)) FROM n;"
		"INSERT INTO device(name) VALUES('a'), ('b'); CREATE TABLE more(x);"
		"CREATE INDEX call_verb ON call(verb); COMMIT;";

	assert_int_equal(sqlite3_exec(blank, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(made, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(blank, "INSERT INTO device(name) VALUES('b')", NULL, NULL, NULL),
		SQLITE_CONSTRAINT);
	both_have("SELECT * FROM environ");
	both_have("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name");
	both_have("PRAGMA integrity_check");
}
