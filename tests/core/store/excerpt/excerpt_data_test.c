/*
 * The rows of excerpts of an example: excerpt_data_test.txt
 */
#include "core/store/excerpt/excerpt.h"

#include "core/store/excerpt/excerpt_from.h"
#include "core/store/excerpt/excerpt_only.h"
#include "core/store/unpack.h"
#include "tests/core/store/everything.h"
#include "tests/core/store/tables.h"

static struct text text;
static char path[300];

static void add_excerpt(const struct excerpt *excerpt, const char *name)
{
	struct excerpt_size size;
	struct trace *trace;

	assert_int_equal(excerpt_write(example.trace, excerpt, path, &size), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	text_addf(&text, "=== %s: %u of %u objects\n", name, size.objects, size.of_objects);
	tables_add_all(&text, trace);
	trace_close(trace);
	unlink(path);
}

/* Requests and completions with an even wr_id, and all calls but of ibv_query_*. */
static bool has_item(void *arg, const struct excerpt_item *item)
{
	(void)arg;
	return item->kind == EXCERPT_REQUEST      ? item->i % 2 == 0
	       : item->kind == EXCERPT_COMPLETION ? item->i % 2 == 1
						  : item->id.n != 6 && item->id.n != 8;
}

/* The same of the unpacked trace. */
static void expect_of_unpacked(const struct excerpt *excerpt)
{
	struct text packed = text;
	struct trace *whole = example.trace;
	char plain[320];

	snprintf(plain, sizeof(plain), "%s-plain", example.path);
	assert_int_equal(trace_unpack(example.path, plain), 0);
	assert_int_equal(trace_open(plain, &example.trace), 0);
	text = (struct text){ 0 };
	add_excerpt(excerpt, "unpacked");
	transcript_compare(strchr(text.at, '\n'), strchr(strstr(packed.at, "=== parts"), '\n'));
	text_fini(&text);
	trace_close(example.trace);
	unlink(plain);
	example.trace = whole;
	text = packed;
}

static void add_only(uint32_t object)
{
	struct excerpt excerpt = EXCERPT_ALL;
	struct excerpt_only *only;

	assert_int_equal(excerpt_only_new(example.trace, &only), 0);
	excerpt_only_object(only, object);
	assert_int_equal(excerpt_only_complete(only), 0);
	excerpt.has = excerpt_only_has;
	excerpt.arg = only;
	excerpt.what = "one object";
	add_excerpt(&excerpt, "one object");
	excerpt_only_free(only);
}

static void add_from(struct event_id id)
{
	struct excerpt excerpt = EXCERPT_ALL;
	struct excerpt_from *from;
	struct excerpt_place place;

	assert_int_equal(excerpt_find(example.trace, id, true, &place), 1);
	assert_int_equal(excerpt_from_new(example.trace, place, &from), 0);
	excerpt.has = excerpt_from_has;
	excerpt.arg = from;
	excerpt.cut = place.time;
	excerpt.what = "from an event";
	add_excerpt(&excerpt, "from an event");
	excerpt_from_free(from);
}

TEST(excerpts_have_their_rows)
{
	struct excerpt excerpt = EXCERPT_ALL;

	open_everything();
	snprintf(path, sizeof(path), "%s-excerpt", example.path);
	add_excerpt(&excerpt, "everything");
	excerpt.has = has_item;
	add_excerpt(&excerpt, "parts of everything");
	expect_of_unpacked(&excerpt);
	example_end(&example);
	example_begin_connected(&example, IBV_QPT_RC, true, false);
	example_story(&example);
	example_open(&example);
	excerpt.has = has_item;
	add_excerpt(&excerpt, "parts of posts and polls");
	excerpt.has = NULL;
	assert_int_equal(
		excerpt_find(example.trace, (struct event_id){ 1, 26 }, false, &excerpt.until), 1);
	add_excerpt(&excerpt, "until a poll");
	assert_int_equal(
		excerpt_find(example.trace, (struct event_id){ 2, 29 }, true, &excerpt.until), 1);
	add_excerpt(&excerpt, "until a call has begun");
	add_only(12);
	add_from((struct event_id){ 1, 26 });
	add_from((struct event_id){ 2, 32 });
	example_end(&example);
	transcript_expect(__FILE__, &text);
}
