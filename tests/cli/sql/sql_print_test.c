/*
 * Rows of a query in each format
 */
#include "cli/sql/sql_print.h"

#include <unistd.h>

#include "core/base/style.h"
#include "tests/test.h"

static sqlite3 *db;

static int open_memory(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db) != SQLITE_OK;
}

static int close_memory(void **state)
{
	(void)state;
	style_enable(false);
	return sqlite3_close(db) != SQLITE_OK;
}

FIXTURE(open_memory, close_memory);

/* What the rows of @sql look like. */
static void expect_rows(const char *sql, enum sql_format format, bool header, const char *wanted)
{
	int before = dup(STDOUT_FILENO), code;
	FILE *file = tmpfile();
	sqlite3_stmt *stmt;
	char text[1024];
	size_t n;

	assert_non_null(file);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	code = sql_print(stmt, format, header);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	sqlite3_finalize(stmt);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	assert_int_equal(code, SQLITE_DONE);
	assert_string_equal(text, wanted);
}

#define TWO_ROWS "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y'"
#define NO_ROW   "SELECT 1 AS a, 2 AS b WHERE 0"

TEST(rows_have_separators)
{
	expect_rows(TWO_ROWS, SQL_PLAIN, false, "1|x\n2|y\n");
	expect_rows(TWO_ROWS, SQL_CSV, false, "1,x\n2,y\n");
	expect_rows(TWO_ROWS, SQL_JSON, false,
		    "[{\"a\": 1, \"b\": \"x\"},\n{\"a\": 2, \"b\": \"y\"}]\n");
	expect_rows(TWO_ROWS, SQL_JSON_LINES, false,
		    "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": \"y\"}\n");
}

TEST(header_has_the_names)
{
	expect_rows(NO_ROW, SQL_PLAIN, true, "a|b\n");
	expect_rows(NO_ROW, SQL_CSV, true, "a,b\n");
	expect_rows(NO_ROW, SQL_JSON, true, "[]\n");
	expect_rows(NO_ROW, SQL_JSON_LINES, true, "");
	expect_rows(NO_ROW, SQL_PLAIN, false, "");
	expect_rows("SELECT 1 AS \"a,b\"", SQL_CSV, true, "\"a,b\"\n1\n");
}

TEST(only_a_plain_header_has_a_style)
{
	char wanted[64];

	style_enable(true);
	snprintf(wanted, sizeof(wanted), "%sa%s|%sb%s\n", style_sequence(STYLE_HEAD),
		 style_sequence(STYLE_PLAIN), style_sequence(STYLE_HEAD),
		 style_sequence(STYLE_PLAIN));
	expect_rows(NO_ROW, SQL_PLAIN, true, wanted);
	expect_rows(NO_ROW, SQL_CSV, true, "a,b\n");
}

TEST(csv_is_quoted_where_it_must_be)
{
	static const struct {
		const char *value, *csv;
	} rows[] = {
		{ "SELECT 'plain text'", "plain text\n" },
		{ "SELECT 'a,b'", "\"a,b\"\n" },
		{ "SELECT 'a\"b\"'", "\"a\"\"b\"\"\"\n" },
		{ "SELECT 'a' || char(10) || 'b'", "\"a\nb\"\n" },
		{ "SELECT ''", "\"\"\n" },
		{ "SELECT NULL", "\"\"\n" }, /* not an empty line, which has no column */
		{ "SELECT NULL, NULL", ",\n" },
		{ "SELECT '', 1", "\"\",1\n" },
		{ "SELECT char(27) || ','", "\"\\x1b,\"\n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		expect_rows(rows[i].value, SQL_CSV, false, rows[i].csv);
}

TEST(values_keep_their_types)
{
	static const char sql[] = "SELECT NULL AS n, x'00ff41' AS b, 1.5 AS f, -7 AS i,"
				  " 9e999 AS p, -9e999 AS m, 'a' || char(10) || '\"' AS t";

	expect_rows(sql, SQL_PLAIN, false, "|00FF41|1.5|-7|Inf|-Inf|a\\x0a\"\n");
	expect_rows(sql, SQL_JSON, false,
		    "[{\"n\": null, \"b\": \"00FF41\", \"f\": 1.5, \"i\": -7, \"p\": 9e999, "
		    "\"m\": -9e999, \"t\": \"a\\u000a\\\"\"}]\n");
	expect_rows("SELECT NULL", SQL_PLAIN, false, "\n");
}

TEST(texts_may_contain_nul)
{
	expect_rows("SELECT CAST(x'610062' AS TEXT)", SQL_PLAIN, false, "a\\x00b\n");
	expect_rows("SELECT CAST(x'610062' AS TEXT)", SQL_CSV, false, "a\\x00b\n");
	expect_rows("SELECT CAST(x'610062' AS TEXT) AS t", SQL_JSON_LINES, false,
		    "{\"t\": \"a\\ufffdb\"}\n");
}
