/*
 * The events of a trace with each kind of event, in order, and those of a filter: cursor_test.txt
 */
#include <errno.h>

#include "core/store/unpack.h"
#include "tests/core/store/events_text.h"
#include "tests/core/store/everything.h"
#include "tests/core/store/tables.h"

static const struct filter_row {
	const char *name;
	struct trace_filter filter;
} rows[] = {
	{ "all", { 0 } },
	{ "unmatched, of process 1, from 1118", { .process = 1, .from = 1118, .unmatched = true } },
	{ "until 1040", { .to = 1040 } },
	{ "from 1036 until 1041", { .from = 1036, .to = 1041 } },
	{ "of thread 2, from 1030", { .thread = 2, .from = 1030 } },
	{ "of thread 1 in process 2", { .thread = 1, .process = 2 } },
	{ "control plane from 1110", { .control_only = true, .from = 1110 } },
	{ "of process 3", { .process = 3 } },
};

TEST(events_are_those_of_the_filter)
{
	struct text text = { 0 };

	open_everything();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		events_add_all(&text, example.trace, &rows[i].filter, rows[i].name);
	example_end(&example);
	transcript_expect(__FILE__, &text);
}

/* Everything but meta, whose format differs. */
TEST(an_unpacked_trace_has_the_same_events)
{
	struct text text = { 0 }, plain = { 0 };
	struct trace *unpacked;
	char path[300];

	open_everything();
	snprintf(path, sizeof(path), "%s-plain", example.path);
	assert_int_equal(trace_unpack(example.path, path), 0);
	assert_int_equal(trace_open(path, &unpacked), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		events_add_all(&text, example.trace, &rows[i].filter, rows[i].name);
		events_add_all(&plain, unpacked, &rows[i].filter, rows[i].name);
	}
	tables_add_data(&text, example.trace);
	tables_add_data(&plain, unpacked);
	transcript_compare(plain.at, text.at);
	trace_close(unpacked);
	unlink(path);
	example_end(&example);
	text_fini(&text);
	text_fini(&plain);
}

/* Posts are found by their names, in any order. */
TEST(a_post_is_found)
{
	const struct post *post;
	struct cursor *cursor;

	open_everything();
	assert_int_equal(cursor_open(example.trace, NULL, &cursor), 0);
	assert_int_equal(cursor_post(cursor, (struct event_id){ 1, 97 }, &post), 1);
	assert_int_equal(post->verb, VERB_post_recv);
	assert_int_equal(cursor_post(cursor, (struct event_id){ 1, 95 }, &post), 1);
	assert_int_equal(post->nwr, 6);
	assert_int_equal(post->wr[5].flush_length, 77);
	assert_int_equal(cursor_post(cursor, (struct event_id){ 1, 100 }, &post), 0);
	assert_int_equal(cursor_post(cursor, (struct event_id){ 2, 94 }, &post), 0);
	assert_int_equal(cursor_post(cursor, (struct event_id){ 9, 1 }, &post), 0);
	cursor_close(cursor);
	example_end(&example);
}
