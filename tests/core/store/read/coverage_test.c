/*
 * What the recorder could not observe, as table `coverage` has it
 */
#include "core/store/read/coverage.h"

#include <unistd.h>

#include <sqlite3.h>

#include "core/base/text.h"
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct trace *trace;
static struct text text;

static int make_trace(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("coverage.db"));
	return make_sends(path, 1);
}

static int remove_trace(void **state)
{
	(void)state;
	trace_close(trace);
	trace = NULL;
	text_fini(&text);
	return unlink(path);
}

FIXTURE(make_trace, remove_trace);

/* The trace, with these rows. */
static struct trace *open_with(const char *rows)
{
	sqlite3 *db;
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO coverage (process, thread, n, time, what, detail, times) VALUES %s",
		 rows);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(trace_open(path, &trace), 0);
	return trace;
}

static void add_sum(void *arg, const struct coverage_sum *sum)
{
	text_addf(arg, "%s %s %d; ", sum->what, sum->function ?: "-", (int)sum->times);
}

static void add_direct(void *arg, const struct coverage_direct *direct)
{
	text_addf(arg, "%d %s %d %d:%d %d; ", (int)direct->process, direct->function ?: "-",
		  (int)direct->times, (int)direct->first.thread, (int)direct->first.n,
		  (int)direct->time);
}

TEST(sums_are_by_kind_and_function)
{
	open_with("(1, 1, 7, 50, 'wq', 'x', 2), (1, 1, 8, 60, 'wq', 'y', 3),"
		  "(1, 1, 9, 70, 'direct', 'b_put', 5), (2, 2, 9, 40, 'direct', 'a_put', 1),"
		  "(2, 2, 4, 80, 'direct', 'a_put', 1), (1, 1, 2, 20, 'direct-import', 'c', 4)");
	assert_int_equal(coverage_visit_sums(trace, add_sum, &text), 0);
	assert_string_equal(text.at, "direct a_put 2; direct b_put 5; direct-import c 4; wq - 5; ");
}

TEST(direct_calls_are_by_process_from_the_first_on)
{
	open_with("(1, 1, 9, 70, 'direct', 'b_put', 5), (2, 2, 9, 40, 'direct', 'a_put', 1),"
		  "(2, 2, 4, 80, 'direct', 'a_put', 1), (1, 1, 2, 20, 'direct-import', 'c', 4)");
	assert_int_equal(coverage_visit_direct_calls(trace, add_direct, &text), 0);
	assert_string_equal(text.at, "2 a_put 2 2:9 40; 1 b_put 5 1:9 70; ");
}

TEST(some_kinds_hide_data_verbs)
{
	static const struct {
		const char *what;
		bool hides;
	} rows[] = { { "direct", true },      { "direct-import", true },
		     { "extended-qp", true }, { "extended-cq", true },
		     { "wq", true },          { "providers", true },
		     { "imports", true },     { "thread", true },
		     { "vfork", true },       { "something", false } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char row[64];

		snprintf(row, sizeof(row), "(1, 1, 1, 1, '%s', NULL, 1)", rows[i].what);
		assert_int_equal(coverage_hides_data(open_with(row)), rows[i].hides);
		trace_close(trace);
		trace = NULL;
		unlink(path);
		assert_int_equal(make_sends(path, 1), 0);
	}
}
