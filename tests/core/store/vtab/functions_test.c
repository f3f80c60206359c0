#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/vtab/functions.h"
#include "tests/test.h"

static sqlite3 *db;

static int open_db(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db) || functions_add(db) ||
	       sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL);
}

static int close_db(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

FIXTURE(open_db, close_db);

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double ask_percentile(double p)
{
	sqlite3_stmt *stmt;
	double value;

	assert_int_equal(sqlite3_prepare_v2(db, "SELECT percentile(x, ?) FROM t", -1, &stmt, NULL),
			 0);
	sqlite3_bind_double(stmt, 1, p);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	value = sqlite3_column_double(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* Against sorting. */
static void compare_all(double *values, size_t n)
{
	static const double ps[] = { 0, 1, 12.5, 50, 90, 99, 99.9, 100 };
	sqlite3_stmt *stmt;

	sqlite3_exec(db, "DELETE FROM t", NULL, NULL, NULL);
	assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?)", -1, &stmt, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		sqlite3_bind_double(stmt, 1, values[i]);
		sqlite3_step(stmt);
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	qsort(values, n, sizeof(*values), compare_values);
	for (size_t i = 0; i < sizeof(ps) / sizeof(*ps); i++) {
		double at = ps[i] / 100 * (double)(n - 1);
		size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
		double wanted = values[low] + (at - (double)low) * (values[high] - values[low]);

		assert_float_equal(ask_percentile(ps[i]), wanted, 1e-6);
	}
}

TEST(percentiles_of_random_values_are_those_of_sorting)
{
	double values[3000];

	for (unsigned int seed = 1; seed <= 40; seed++) {
		size_t n = seed < 20 ? seed : seed * 70;
		int different = seed % 3 ? 1000000 : 5;

		srand(seed);
		for (size_t i = 0; i < n; i++)
			values[i] = rand() % different;
		compare_all(values, n);
	}
}

TEST(percentiles_of_values_in_order_are_those_of_sorting)
{
	double values[1000];

	for (int shape = 0; shape < 4; shape++) {
		for (int i = 0; i < 1000; i++)
			values[i] = shape == 0   ? i
				    : shape == 1 ? -i
				    : shape == 2 ? 7
						 : abs(500 - i);
		compare_all(values, 1000);
	}
}

/* Musser's sequence: the median of three is the second lowest each time. */
TEST(a_sequence_against_the_pivot_ends)
{
	enum { N = 20000, HALF = N / 2 };
	static double values[N];

	for (int i = 1; i <= HALF; i++) {
		values[i - 1] = i % 2 ? i : HALF + i - 1;
		values[HALF + i - 1] = 2 * i;
	}
	compare_all(values, N);
}

TEST(a_variable_that_is_not_recorded_is_not_shown)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT shown('UCX_TLS', 'rc'),"
					    " shown('VERBATIM_REPLAY_KEY', 'x'), shown('A', NULL)",
					    -1, &stmt, NULL),
			 0);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "rc");
	assert_string_equal((const char *)sqlite3_column_text(stmt, 1), "(not shown)");
	assert_int_equal(sqlite3_column_type(stmt, 2), SQLITE_NULL);
	sqlite3_finalize(stmt);
}

TEST(an_event_has_its_name)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT event(3, 1042), event(0, 1),"
					    " errno_name(22), errno_name(99999)",
					    -1, &stmt, NULL),
			 0);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "3:1042");
	assert_int_equal(sqlite3_column_type(stmt, 1), SQLITE_NULL);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 2), "EINVAL");
	assert_int_equal(sqlite3_column_type(stmt, 3), SQLITE_NULL);
	sqlite3_finalize(stmt);
}
