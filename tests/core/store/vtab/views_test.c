#include "core/store/open.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/views.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct trace *trace;

static int make_trace(void **state)
{
	struct writer *w;
	struct maker m;

	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("trace.db"));
	w = make_writer(path);
	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
	return trace_open(path, &trace);
}

static int remove_trace(void **state)
{
	(void)state;
	trace_close(trace);
	return unlink(path);
}

FIXTURE(make_trace, remove_trace);

static int64_t count_views(void)
{
	return sql_int(trace_db(trace), "SELECT count(*) FROM sqlite_temp_master", -1);
}

/* Count the views that need no model. */
static int64_t count_all(void)
{
	int64_t n = 0;

	for (const struct view *view = views; view->name; view++)
		n += !view->model;
	return n;
}

static void create_for(const char *query, int64_t wanted)
{
	int64_t before = count_views();

	assert_int_equal(views_create(trace_db(trace), false, query), 0);
	assert_int_equal(count_views() - before, wanted);
}

TEST(a_query_gets_the_views_that_it_names)
{
	create_for("SELECT 1", 0);
	create_for("SELECT count(*) FROM Calls", 1);
	create_for("SELECT count(*) FROM calls", 0);
	create_for("SELECT * FROM ranks JOIN \"mrs\" USING(process)", 2);
}

/* Views that need the model have no table here. */
TEST(no_view_needs_another)
{
	for (const struct view *view = views; view->name; view++) {
		char query[80];

		if (view->model)
			continue;
		snprintf(query, sizeof(query), "SELECT count(*) FROM %s", view->name);
		assert_int_equal(views_create(trace_db(trace), false, query), 0);
		assert_true(sql_int(trace_db(trace), query, -1) >= 0);
	}
}

TEST(a_query_for_the_schema_gets_all)
{
	create_for("SELECT name FROM sqlite_temp_master", count_all());
}

TEST(without_a_query_all_are_there)
{
	create_for(NULL, count_all());
}

TEST(pragmas_see_all)
{
	create_for("PRAGMA table_list", count_all());
}
