/*
 * The same rows in a table and in blocks: each query gives the same
 */
#include "core/store/db/row_tables.h"

#include "core/store/db/schema.h"
#include "tests/core/store/random_events.h"
#include "tests/core/store/tables.h"
#include "tests/test.h"

enum { ROWS = 5000, FEW = 300 }; /* two blocks; one */

static sqlite3 *rows_db, *blocks_db;
static struct text rows, blocks;

static int open_both(void **state)
{
	(void)state;
	random_choose();
	return sqlite3_open(":memory:", &rows_db) || sqlite3_open(":memory:", &blocks_db) ||
	       schema_create(rows_db) || schema_create(blocks_db) || row_tables_begin(blocks_db);
}

static int close_both(void **state)
{
	(void)state;
	sqlite3_close(rows_db);
	sqlite3_close(blocks_db);
	text_fini(&rows);
	text_fini(&blocks);
	return 0;
}

FIXTURE(open_both, close_both);

static void exec_both(const char *sql)
{
	assert_int_equal(sql_exec(rows_db, sql), 0);
	assert_int_equal(sql_exec(blocks_db, sql), 0);
}

static const char *draw_kind(void)
{
	static const char *const kinds[] = { "'mr'", "'qp'", "'cq'", "'device'" };

	return kinds[random_next() % 4];
}

/* Most numbers repeat, so that a condition selects several rows. */
static const char *draw_number(void)
{
	static char text[4][24];
	static int i;

	if (random_next() % 5 == 0)
		return "NULL";
	i = (i + 1) % 4;
	snprintf(text[i], sizeof(text[i]), "%lld",
		 random_next() % 9 ? (long long)(random_next() >> 8) % 40
				   : (long long)random_next());
	return text[i];
}

static void fill_tables(int n)
{
	char sql[400];

	exec_both("BEGIN");
	for (int i = 1; i <= n; i++) {
		snprintf(sql, sizeof(sql),
			 "INSERT INTO object(id, process, kind, ordinal, name, handle, parent,"
			 " created_thread) VALUES(%d, %d, %s, %s, %s || %d, %s, %s, 1)",
			 i, 1 + i % 3, draw_kind(), draw_number(), draw_kind(), i / 7,
			 draw_number(), draw_number());
		exec_both(sql);
		snprintf(sql, sizeof(sql),
			 "INSERT INTO queue(thread, n, object, side, cq, given)"
			 " VALUES(%d, %d, %d, '%s', %s, %s)",
			 1 + i / 2000, i, 1 + i % 400, i % 2 ? "send" : "recv", draw_number(),
			 draw_number());
		exec_both(sql);
	}
	exec_both("COMMIT");
}

static const char *const queries[] = {
	"SELECT * FROM object",
	"SELECT * FROM queue",
	"SELECT count(*), sum(id) FROM object WHERE id > 4090 AND id <= 4100",
	"SELECT * FROM object WHERE id BETWEEN 4090 AND 4099 ORDER BY id DESC",
	"SELECT * FROM object WHERE id = 4096 OR id = 4097 OR id = 5000 OR id = 5001",
	"SELECT rowid AS row, * FROM object WHERE rowid = 4097",
	"SELECT * FROM object WHERE id = '77' OR id = 78.0 OR id = NULL",
	"SELECT id FROM object WHERE handle = 7 AND kind = 'qp'",
	"SELECT id FROM object WHERE handle = -9223372036854775808",
	"SELECT id FROM object WHERE handle IS NULL AND process = 2 ORDER BY id",
	"SELECT id FROM object WHERE name = 'mr12' ORDER BY id",
	"SELECT id FROM object WHERE id >= 9223372036854775807 OR id < -5",
	"SELECT count(*) FROM object o JOIN object p ON p.id = o.parent",
	"SELECT q.thread, q.n, o.name FROM queue q JOIN object o ON o.id = q.object WHERE q.cq = 9",
	"SELECT count(*) FROM queue c JOIN queue q ON q.cq = c.object",
	"SELECT thread, n, side FROM queue WHERE thread = 2 AND n < 2010 ORDER BY thread, n",
	"SELECT max(id), min(id) FROM object",
	"SELECT * FROM connection",
};

static void compare_queries(void)
{
	assert_int_equal(schema_complete(rows_db), 0);
	assert_int_equal(schema_complete(blocks_db), 0);
	for (size_t i = 0; i < sizeof(queries) / sizeof(*queries); i++) {
		text_cut(&rows, 0);
		text_cut(&blocks, 0);
		tables_add_rows(&rows, rows_db, queries[i], queries[i]);
		tables_add_rows(&blocks, blocks_db, queries[i], queries[i]);
		assert_string_equal(blocks.at ?: "", rows.at ?: "");
	}
}

TEST(a_table_in_blocks_has_the_same_rows)
{
	fill_tables(ROWS);
	assert_int_equal(row_tables_end(blocks_db, 1), 0);
	assert_int_equal(sql_int(blocks_db, "SELECT count(*) FROM main.object", -1), 0);
	assert_int_equal(sql_int(blocks_db, "SELECT sum(rows) FROM row_chunk", -1), 2 * ROWS);
	compare_queries();
}

TEST(a_table_of_few_rows_has_no_blocks)
{
	fill_tables(FEW);
	assert_int_equal(row_tables_end(blocks_db, FEW + 1), 0);
	assert_int_equal(sql_int(blocks_db, "SELECT count(*) FROM row_chunk", -1), 0);
	compare_queries();
}

/* A trace that was changed by hand may have any value. */
TEST(a_table_with_other_values_has_no_blocks)
{
	fill_tables(FEW);
	exec_both("UPDATE object SET handle = 1.5 WHERE id = 299; UPDATE queue SET cq = x'00'");
	assert_int_equal(row_tables_end(blocks_db, 1), 0);
	assert_int_equal(sql_int(blocks_db, "SELECT count(*) FROM row_chunk", -1), 0);
	compare_queries();
}

TEST(blocks_that_are_not_in_order_are_refused)
{
	static const char *const damages[] = {
		"UPDATE row_chunk SET first = 5000 WHERE name = 'object'",
		"UPDATE row_chunk SET first = 2 WHERE name = 'object'",
		"UPDATE row_chunk SET rows = rows - 1 WHERE name = 'object'",
		"UPDATE row_chunk SET data = x'01' WHERE name = 'object'",
		"UPDATE row_chunk SET last = 1 WHERE name = 'object'",
	};

	fill_tables(FEW);
	assert_int_equal(row_tables_end(blocks_db, 1), 0);
	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		char *error = NULL;

		exec_both("DROP TABLE IF EXISTS temp.object");
		assert_int_equal(sql_exec(blocks_db, "SAVEPOINT damage"), 0);
		assert_int_equal(sql_exec(blocks_db, damages[i]), 0);
		if (!row_tables_create(blocks_db))
			assert_int_not_equal(sqlite3_exec(blocks_db, "SELECT id FROM object", NULL,
							  NULL, &error),
					     SQLITE_OK);
		sqlite3_free(error);
		sqlite3_exec(blocks_db, "DROP TABLE IF EXISTS temp.object", NULL, NULL, NULL);
		assert_int_equal(sql_exec(blocks_db, "ROLLBACK TO damage; RELEASE damage"), 0);
	}
}
