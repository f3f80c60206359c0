#include <errno.h>
#include <sqlite3.h>

#include "core/store/open.h"
#include "core/store/db/deadline.h"
#include "core/store/db/file.h"
#include "core/store/unpack.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { POSTS = 20000 };

static char path[256], plain[256];

static int make_trace(void **state)
{
	(void)state;
	deadline_start(UINT64_MAX);
	snprintf(path, sizeof(path), "%s", make_path("deadline.db"));
	snprintf(plain, sizeof(plain), "%s", make_path("deadline-plain.db"));
	return make_sends(path, POSTS);
}

static int remove_trace(void **state)
{
	(void)state;
	file_remove(path);
	file_remove(plain);
	return 0;
}

FIXTURE(make_trace, remove_trace);

TEST(cursor_ends_by_it)
{
	const struct trace_event *event;
	struct cursor *cursor;
	struct trace *trace;
	int more, n = 0;

	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	assert_int_equal(cursor_next(cursor, &event), 1);
	deadline_start(1);
	while ((more = cursor_next(cursor, &event)) > 0)
		n++;
	assert_int_equal(more, -ETIME);
	assert_true(n < POSTS);
	cursor_close(cursor);
	trace_close(trace);
}

TEST(query_ends_by_it)
{
	static const char sql[] = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r)"
				  " SELECT count(*) FROM r";
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace), 0);
	deadline_start(1);
	assert_int_equal(sqlite3_exec(trace_db(trace), sql, NULL, NULL, NULL), SQLITE_INTERRUPT);
	assert_int_equal(
		sqlite3_exec(trace_db(trace), "SELECT sum(wr_id) FROM wr", NULL, NULL, NULL),
		SQLITE_INTERRUPT);
	trace_close(trace);
}

TEST(half_of_an_unpacked_trace_is_removed)
{
	deadline_start(1);
	assert_int_equal(trace_unpack(path, plain), -ETIME);
	assert_int_not_equal(access(plain, F_OK), 0);
}

TEST(far_deadline_is_none)
{
	assert_false(deadline_is_over());
	assert_int_equal(trace_unpack(path, plain), 0);
}
