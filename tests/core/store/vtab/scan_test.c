/*
 * Each constraint on each column of a virtual table selects the rows that it selects of a copy
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "core/wire/log.h"
#include "tests/core/store/everything.h"

enum { COLUMNS = 64, VALUES = 5 };

static sqlite3 *db;

static int open_trace_and_copies(void **state)
{
	(void)state;
	open_everything();
	db = trace_db(example.trace);
	return 0;
}

static int close_trace(void **state)
{
	(void)state;
	example_end(&example);
	return 0;
}

GROUP(open_trace_and_copies, close_trace);

/* Number of rows, and a sum over them. */
static void count_rows(const char *sql, int64_t ret[2])
{
	sqlite3_stmt *row;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	ret[0] = sqlite3_column_int64(row, 0);
	ret[1] = sqlite3_column_int64(row, 1);
	sqlite3_finalize(row);
}

/* @where selects the same rows of @table and of its copy. */
static void compare_rows(const char *table, const char *where)
{
	static const char select[] =
		"SELECT count(*), sum(thread * 1000000 + n * 1000 + time) FROM";
	int64_t rows[2], copied[2];
	char sql[512];

	snprintf(sql, sizeof(sql), "%s %s WHERE %s", select, table, where);
	count_rows(sql, rows);
	snprintf(sql, sizeof(sql), "%s temp.copy WHERE %s", select, where);
	count_rows(sql, copied);
	if (rows[0] != copied[0] || rows[1] != copied[1])
		fail_msg("%s WHERE %s: %d rows, not %d", table, where, (int)rows[0],
			 (int)copied[0]);
}

static void copy_table(const char *table)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "DROP TABLE IF EXISTS temp.copy; CREATE TEMP TABLE copy AS SELECT * FROM %s",
		 table);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Each comparison of @column with some of its values, and with those next to them. */
static void compare_column(const char *table, const char *column)
{
	static const char *const signs[] = { "=", "<", "<=", ">", ">=", "!=", "IS" };
	char values[VALUES][64], where[256];
	sqlite3_stmt *row;
	int n = 0;

	snprintf(where, sizeof(where),
		 "SELECT DISTINCT quote(%s) FROM temp.copy ORDER BY %s DESC LIMIT %d", column,
		 column, VALUES);
	assert_int_equal(sqlite3_prepare_v2(db, where, -1, &row, NULL), SQLITE_OK);
	for (; n < VALUES && sqlite3_step(row) == SQLITE_ROW; n++)
		snprintf(values[n], sizeof(values[n]), "%s", sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
	for (int i = 0; i < n; i++) {
		if (strlen(values[i]) == sizeof(values[i]) - 1)
			continue; /* bytes that do not fit */
		for (size_t sign = 0; sign < sizeof(signs) / sizeof(*signs); sign++) {
			snprintf(where, sizeof(where), "%s %s %s", column, signs[sign], values[i]);
			compare_rows(table, where);
		}
		snprintf(where, sizeof(where), "%s = %s AND thread = 1 AND n >= 95", column,
			 values[i]);
		compare_rows(table, where);
		snprintf(where, sizeof(where), "%s = %s + 1", column, values[i]);
		compare_rows(table, where);
	}
	snprintf(where, sizeof(where), "%s IS NULL", column);
	compare_rows(table, where);
}

static const struct table {
	const char *name;
} tables[] = { { "post" }, { "wr" }, { "sge" }, { "poll" }, { "wc" }, { "notify" }, { "payload" } };

static void columns_select_their_rows(void **state)
{
	const char *table = ((const struct table *)*state)->name;
	char names[COLUMNS][32], sql[128];
	sqlite3_stmt *row;
	int n;

	copy_table(table);
	snprintf(sql, sizeof(sql), "SELECT * FROM %s", table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	n = sqlite3_column_count(row);
	assert_in_range(n, 5, COLUMNS);
	for (int i = 0; i < n; i++)
		snprintf(names[i], sizeof(names[i]), "%s", sqlite3_column_name(row, i));
	sqlite3_finalize(row);
	for (int i = 0; i < n; i++)
		compare_column(table, names[i]);
}
TEST_ROWS(tables, columns_select_their_rows);

static const struct range {
	const char *name; /* the constraint */
} ranges[] = {
	{ "thread = 1 AND n = 95" },
	{ "thread = 1 AND n BETWEEN 93 AND 98" },
	{ "thread = 1 AND n > 93 AND n < 98" },
	{ "thread = 1 AND n = 93 OR thread = 1 AND n = 132" },
	{ "thread = 2" },
	{ "thread = 0" },
	{ "thread = 99" },
	{ "thread = -1" },
	{ "thread IN (1, 3)" },
	{ "n = 95" },
	{ "n < 0" },
	{ "time BETWEEN 1118 AND 1124" },
	{ "time > 1118 AND time <= 1119" },
	{ "time < 1118" },
	{ "time >= 1157" },
	{ "time > 9223372036854775806" },
	{ "time = 1119.5" },
	{ "time = 'x'" },
	{ "thread = 1 AND time > 1120 AND n < 100" },
	{ "thread = '1' AND n = '95'" },
	{ "thread = 1.5" },
	{ "n > 94.5 AND n < 95.5" },
};

static void range_selects_its_rows(void **state)
{
	const struct range *range = *state;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		copy_table(tables[i].name);
		compare_rows(tables[i].name, range->name);
	}
}
TEST_ROWS(ranges, range_selects_its_rows);

/* Orders that a table may have anyway. */
TEST(rows_are_in_the_order_asked_for)
{
	static const char *const orders[] = { "thread, n",           "thread, n, i", "time",
					      "thread DESC, n DESC", "time DESC",    "n" };
	char sql[256];
	int64_t last[2], rows[2];

	copy_table("wr");
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		snprintf(sql, sizeof(sql),
			 "SELECT thread * 1000 + n, i FROM wr ORDER BY %s LIMIT 1 OFFSET 5",
			 orders[i]);
		count_rows(sql, rows);
		snprintf(sql, sizeof(sql),
			 "SELECT thread * 1000 + n, i FROM temp.copy ORDER BY %s LIMIT 1 OFFSET 5",
			 orders[i]);
		count_rows(sql, last);
		assert_int_equal(rows[0], last[0]);
	}
}

/* A query of a trace whose chunks cannot be read fails. */
TEST(a_damaged_chunk_is_an_error)
{
	struct example whole = example;
	sqlite3_stmt *row;
	sqlite3 *file;

	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_story(&example);
	example_finish(&example);
	assert_int_equal(sqlite3_open(example.path, &file), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(file, "UPDATE chunk SET data = x'00112233'", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(file);
	assert_int_equal(trace_open(example.path, &example.trace), 0);
	assert_int_equal(
		sqlite3_prepare_v2(trace_db(example.trace), "SELECT * FROM wr", -1, &row, NULL),
		SQLITE_OK);
	log_silence(true);
	assert_int_equal(sqlite3_step(row), SQLITE_CORRUPT);
	log_silence(false);
	assert_int_equal(sqlite3_extended_errcode(trace_db(example.trace)), SQLITE_CORRUPT_VTAB);
	sqlite3_finalize(row);
	example_end(&example);
	example = whole;
}
