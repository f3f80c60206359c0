/*
 * core/store/merge: three traces as one. It must contain the events of a joint reading of all
 * three, in the same order and at the same times.
 */
#include "core/store/merge/merge.h"

#include <errno.h>
#include <sqlite3.h>

#include "core/store/db/sql.h"
#include "core/store/open.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { TRACES = 3, SENDS = 20 };

static char paths[TRACES][256], merged_path[256];

/* Each is of another machine, and has its own number of sends. */
static const char *const boots[TRACES] = { "first", "second", "third" };

static int make_traces(void **state)
{
	char sql[512];
	sqlite3 *db;

	(void)state;
	make_now = 1000;
	snprintf(merged_path, sizeof(merged_path), "%s", make_path("all.db"));
	for (unsigned int i = 0; i < TRACES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s-%u", make_path("part.db"), i);
		assert_int_equal(make_sends(paths[i], SENDS + i), 0);
		assert_int_equal(sql_open(paths[i], SQLITE_OPEN_READWRITE, &db), 0);
		snprintf(sql, sizeof(sql),
			 "UPDATE meta SET value = '%s' WHERE key = 'recorder_boot';"
			 "UPDATE meta SET value = '%s' WHERE key = 'host';"
			 "UPDATE meta SET value = 1000000 + %u WHERE key = 'realtime';"
			 "UPDATE meta SET value = %u WHERE key = 'duration';"
			 "INSERT OR REPLACE INTO meta VALUES('waits_given_up', 1 + %u);"
			 "INSERT OR REPLACE INTO meta VALUES('one_of', 10 - %u);"
			 "INSERT OR REPLACE INTO meta VALUES('filter', 'filter %u');"
			 "INSERT OR REPLACE INTO meta VALUES('strict', '%u');"
			 "INSERT OR REPLACE INTO meta VALUES('payload', 'of %u')",
			 boots[i], boots[i], 1000 * i, 5000 + 1000 * i, i, i, i / 2, i / 2, i);
		assert_int_equal(sql_exec(db, sql), 0);
		sqlite3_close(db);
	}
	return 0;
}

static int remove_traces(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < TRACES; i++)
		unlink(paths[i]);
	unlink(merged_path);
	return 0;
}

FIXTURE(make_traces, remove_traces);

static struct trace *join_traces(void)
{
	const char *names[TRACES];
	struct trace *traces[TRACES], *joint;

	for (unsigned int i = 0; i < TRACES; i++) {
		names[i] = paths[i];
		assert_int_equal(trace_open(paths[i], &traces[i]), 0);
	}
	assert_int_equal(trace_join(traces, names, TRACES, &joint), 0);
	return joint;
}

/* The second is ahead, and fast; the third is behind. */
static struct trace *join_with_clocks(void)
{
	const struct trace_clock clocks[TRACES] = {
		[1] = { CLOCK_ESTIMATED, -300, -2e-3, 12, 1e-6, false, 4, 1000 },
		[2] = { CLOCK_ESTIMATED, 70, 1e-3, INT64_MAX, 2e-6, true, 5, 2000 },
	};
	struct trace *joint = join_traces();

	for (size_t i = 1; i < TRACES; i++)
		assert_int_equal(trace_set_clock(joint, i, &clocks[i]), 0);
	return joint;
}

static struct trace *merge_traces(struct trace *joint)
{
	struct trace *merged;

	assert_int_equal(merge_write(joint, merged_path), 0);
	assert_int_equal(trace_open(merged_path, &merged), 0);
	return merged;
}

static void expect_event(const struct trace_event *event, const struct trace_event *like)
{
	assert_int_equal(event->kind, like->kind);
	assert_int_equal(event->id.thread, like->id.thread);
	assert_int_equal(event->id.n, like->id.n);
	assert_int_equal(event->process, like->process);
	assert_int_equal(event->time, like->time);
	if (event->kind == TRACE_RETURN) {
		assert_int_equal(event->call->verb, like->call->verb);
		assert_int_equal(event->call->begin, like->call->begin);
		assert_int_equal(event->call->end, like->call->end);
		assert_int_equal(event->call->object, like->call->object);
		assert_int_equal(event->call->stack, like->call->stack);
	} else if (event->kind == TRACE_POST) {
		assert_int_equal(event->post->object, like->post->object);
		assert_int_equal(event->post->nwr, 1);
		assert_int_equal(event->post->wr[0].wr_id, like->post->wr[0].wr_id);
	}
}

TEST(events_are_those_of_all)
{
	struct trace *joint = join_with_clocks(), *merged = merge_traces(joint);
	const struct trace_event *event, *like;
	struct cursor *all, *each;
	size_t n = 0;

	assert_int_equal(cursor_open(merged, NULL, &all), 0);
	assert_int_equal(cursor_open(joint, NULL, &each), 0);
	while (cursor_next(each, &like) > 0) {
		assert_int_equal(cursor_next(all, &event), 1);
		expect_event(event, like);
		n++;
	}
	assert_int_equal(cursor_next(all, &event), 0);
	assert_true(n > TRACES * SENDS);
	cursor_close(all);
	cursor_close(each);
	trace_close(joint);
	trace_close(merged);
}

TEST(objects_are_those_of_all)
{
	struct trace *joint = join_with_clocks(), *merged = merge_traces(joint);
	uint32_t id = 1;

	for (const struct object *like; (like = trace_object(joint, id)); id++) {
		const struct object *object = trace_object(merged, id);

		assert_non_null(object);
		assert_int_equal(object->kind, like->kind);
		assert_int_equal(object->process, like->process);
		assert_int_equal(object->handle, like->handle);
		assert_int_equal(object->created_at, like->created_at);
		assert_int_equal(object->created.thread, like->created.thread);
	}
	assert_null(trace_object(merged, id));
	assert_true(id > TRACES);
	trace_close(joint);
	trace_close(merged);
}

TEST(clocks_are_reported)
{
	struct trace *joint = join_with_clocks(), *merged = merge_traces(joint);

	assert_int_equal(trace_nmerged(joint), 0);
	assert_int_equal(trace_nmerged(merged), TRACES);
	for (size_t i = 0; i < TRACES; i++) {
		struct trace_clock clock = trace_clock(joint, i);
		struct trace_clock told = trace_merged_clock(merged, i);

		assert_string_equal(trace_merged_host(merged, i), boots[i]);
		assert_int_equal(told.source, clock.source);
		assert_int_equal(told.offset, clock.offset);
		assert_int_equal(told.error, clock.error);
		assert_int_equal(told.pairs, clock.pairs);
		assert_int_equal(told.messages, clock.messages);
		assert_int_equal(told.contradicts, clock.contradicts);
		assert_memory_equal(&told.drift, &clock.drift, sizeof(told.drift));
		assert_memory_equal(&told.drift_error, &clock.drift_error, sizeof(told.drift));
		assert_int_equal(trace_merged_ahead(merged, i), trace_clock_ahead(joint, i));
		assert_int_equal(trace_merged_of(merged, (uint32_t)i + 1), i);
		assert_string_equal(trace_merged_meta(merged, i, "device"), "soft");
	}
	trace_close(joint);
	trace_close(merged);
}

/* clang-format off */
static const struct meta_row {
	const char *name, *key, *value; /* NULL: it has none */
} metas[] = {
	{ "what_all_have_stays",          "command", "app --flag" },
	{ "what_is_summed",               "waits_given_up", "6" },
	{ "the_most_of_it",               "one_of", "10" },
	{ "each_text_once",               "filter", "filter 0, filter 1" },
	{ "what_differs_is_not_known",    "strict", "" },
	{ "what_differs_is_several",      "payload", "several" },
	{ "hosts",                        "host", "first, second, third" },
	{ "no_machine_in_particular",     "recorder_boot", NULL },
	{ "nobody_records_it",            "recorder", NULL },
	{ "when_it_began",                "realtime", "1000000" },
	{ "when_the_last_of_them_ended",  "duration", "7077" }, /* the third: 7000 + 70 + 7 */
	{ "that_it_is_complete",          "state", "complete" },
	{ "ticks_of_no_one",              "clock_start", NULL },
};
/* clang-format on */

static void meta_is_of_all(void **state)
{
	const struct meta_row *row = *state;
	struct trace *joint, *merged;
	const char *value;

	make_traces(NULL);
	joint = join_with_clocks();
	merged = merge_traces(joint);
	value = trace_meta(merged, row->key);
	if (row->value) {
		assert_non_null(value);
		assert_string_equal(value, row->value);
	} else {
		assert_null(value);
	}
	trace_close(joint);
	trace_close(merged);
	remove_traces(NULL);
}
TEST_ROWS(metas, meta_is_of_all);

static int64_t count_indexes(const char *of)
{
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sql_open(of, SQLITE_OPEN_READONLY, &db), 0);
	n = sql_int(db, "SELECT count(*) FROM sqlite_master WHERE type = 'index'", 0);
	sqlite3_close(db);
	return n;
}

TEST(it_has_the_indexes_of_a_trace)
{
	struct trace *joint = join_with_clocks();

	trace_close(merge_traces(joint));
	trace_close(joint);
	assert_int_equal(count_indexes(merged_path), count_indexes(paths[0]));
}

TEST(what_was_merged_is_not_merged_again)
{
	struct trace *joint = join_with_clocks(), *merged = merge_traces(joint);
	struct trace *parts[2] = { merged }, *again;
	const char *names[2] = { merged_path, paths[0] };
	char other[300];

	trace_close(joint);
	assert_int_equal(make_sends(paths[0], 1), 0);
	assert_int_equal(trace_open(paths[0], &parts[1]), 0);
	assert_int_equal(trace_join(parts, names, 2, &again), 0);
	snprintf(other, sizeof(other), "%s-again", merged_path);
	assert_int_equal(merge_write(again, other), -EINVAL);
	assert_int_equal(access(other, F_OK), -1);
	trace_close(again);
}
