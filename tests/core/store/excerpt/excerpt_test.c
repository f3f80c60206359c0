#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "core/store/excerpt/excerpt.h"
#include "core/store/excerpt/excerpt_from.h"
#include "core/store/excerpt/excerpt_only.h"
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char from[256], to[256];
static struct trace *whole, *part;
static uint32_t posts[3], poll, mr_n;

/* Two regions, of which the first is deregistered; three sends, completed by one poll. */
static int make_whole(void **state)
{
	struct writer *writer;
	struct make_world w;
	struct maker m;
	struct ibv_mr more;
	struct event_wc wcs[3];

	(void)state;
	make_now = 1000;
	snprintf(from, sizeof(from), "%s", make_path("whole.db"));
	snprintf(to, sizeof(to), "%s", make_path("part.db"));
	unlink(to);
	writer = make_writer(from);
	make_thread(&m, writer, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &w, 17);
	more = w.mr;
	more.lkey = 0x4321;
	mr_n = make_verb(&m, VERB_reg_mr,
			 MAKE_ARGS(MAKE_PTR(&w.pd), 0x7ffe0000, 4096, IBV_ACCESS_LOCAL_WRITE),
			 (int64_t)MAKE_PTR(&more), 0);
	make_verb(&m, VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&w.mr)), 0, 0);
	for (unsigned int i = 0; i < 3; i++) {
		posts[i] = make_post(&m, VERB_post_send, &w.qp, i, IBV_WR_SEND, IBV_SEND_SIGNALED);
		wcs[i] = make_wc(i, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	}
	poll = make_poll(&m, &w.cq, 5, wcs, 3);
	make_end(&m);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(from, &whole), 0);
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	trace_close(whole);
	trace_close(part);
	whole = part = NULL;
	unlink(from);
	unlink(to);
	return 0;
}

static void write_part(struct excerpt excerpt)
{
	assert_int_equal(excerpt_write(whole, &excerpt, to, NULL), 0);
	assert_int_equal(trace_open(to, &part), 0);
}

static int64_t query_number(const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t value = -1;

	assert_int_equal(sqlite3_prepare_v2(trace_db(part), sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static struct excerpt choose_by(bool (*has)(void *arg, const struct excerpt_item *item))
{
	struct excerpt excerpt = EXCERPT_ALL;

	excerpt.has = has;
	return excerpt;
}

FIXTURE(make_whole, remove_all);

TEST(all_of_a_trace_has_all_events)
{
	const struct trace_event *event, *again;
	struct cursor *a, *b;
	int more;

	write_part(EXCERPT_ALL);
	assert_int_equal(cursor_open(whole, NULL, &a), 0);
	assert_int_equal(cursor_open(part, NULL, &b), 0);
	while ((more = cursor_next(a, &event)) > 0) {
		assert_int_equal(cursor_next(b, &again), 1);
		assert_int_equal(again->kind, event->kind);
		assert_int_equal(again->id.n, event->id.n);
		assert_int_equal(again->time, event->time);
	}
	assert_int_equal(more, 0);
	assert_int_equal(cursor_next(b, &again), 0);
	cursor_close(a);
	cursor_close(b);
}

static bool has_no_second(void *arg, const struct excerpt_item *item)
{
	(void)arg;
	return item->kind != EXCERPT_COMPLETION || item->i != 1;
}

TEST(a_poll_without_a_completion_has_returned_less)
{
	write_part(choose_by(has_no_second));
	assert_int_equal(query_number("SELECT ret FROM poll"), 2);
	assert_int_equal(query_number("SELECT group_concat(wr_id, '') FROM wc"), 2);
	assert_int_equal(query_number("SELECT max(wr_id) FROM wc"), 2);
	assert_int_equal(query_number("SELECT completions FROM poll_count"), 2);
	assert_int_equal(query_number("SELECT empty FROM poll_count"), 5);
}

static bool has_no_first_post(void *arg, const struct excerpt_item *item)
{
	(void)arg;
	return item->kind != EXCERPT_REQUEST || item->id.n != posts[0];
}

TEST(a_post_without_requests_is_left_out)
{
	write_part(choose_by(has_no_first_post));
	assert_int_equal(query_number("SELECT count(*) FROM post"), 2);
	assert_int_equal(query_number("SELECT min(n) FROM post"), posts[1]);
}

TEST(what_comes_behind_the_end_has_not_happened)
{
	struct excerpt excerpt = EXCERPT_ALL;

	assert_int_equal(excerpt_find(whole, (struct event_id){ 1, mr_n }, true, &excerpt.until),
			 1);
	write_part(excerpt);
	assert_int_equal(query_number("SELECT count(*) FROM post"), 0);
	assert_int_equal(query_number("SELECT end IS NULL AND ret IS NULL AND object IS NULL"
				      " FROM call ORDER BY n DESC"),
			 1);
	assert_int_equal(query_number("SELECT count(*) FROM object WHERE kind = 'mr'"), 1);
	assert_int_equal(query_number("SELECT count(destroyed_at) FROM object"), 0);
}

TEST(a_returned_call_has_made_its_object)
{
	struct excerpt excerpt = EXCERPT_ALL;

	assert_int_equal(excerpt_find(whole, (struct event_id){ 1, mr_n }, false, &excerpt.until),
			 1);
	write_part(excerpt);
	assert_int_equal(query_number("SELECT count(*) FROM object WHERE kind = 'mr'"), 2);
}

TEST(an_event_that_is_not_there_is_not_found)
{
	struct excerpt_place place;

	assert_int_equal(excerpt_find(whole, (struct event_id){ 1, 9999 }, false, &place), 0);
	assert_int_equal(excerpt_find(whole, (struct event_id){ 7, 1 }, false, &place), 0);
}

TEST(what_is_gone_and_done_is_left_out_before_the_begin)
{
	struct excerpt excerpt = EXCERPT_ALL;
	struct excerpt_place place;
	struct excerpt_from *choice;

	assert_int_equal(excerpt_find(whole, (struct event_id){ 1, posts[2] }, true, &place), 1);
	assert_int_equal(excerpt_from_new(whole, place, &choice), 0);
	excerpt.has = excerpt_from_has;
	excerpt.arg = choice;
	excerpt.cut = place.time;
	write_part(excerpt);
	excerpt_from_free(choice);
	/* the first two sends are outstanding */
	assert_int_equal(query_number("SELECT count(*) FROM post"), 3);
	assert_int_equal(query_number("SELECT count(*) FROM object WHERE kind = 'mr'"), 1);
	/* ids have no gap, names do */
	assert_int_equal(query_number("SELECT max(id) = count(*) FROM object"), 1);
	assert_int_equal(query_number("SELECT name = 'mr2' FROM object WHERE kind = 'mr'"), 1);
	assert_int_equal(trace_cut(part), place.time);
	assert_true(trace_is_closed(part));
}

TEST(an_object_brings_what_it_depends_on)
{
	const struct object *object;
	struct excerpt_only *only;
	struct excerpt excerpt;

	assert_int_equal(excerpt_only_new(whole, &only), 0);
	for (uint32_t id = 1; (object = trace_object(whole, id)); id++)
		if (object->kind == OBJECT_cq)
			excerpt_only_object(only, id);
	assert_int_equal(excerpt_only_complete(only), 0);
	excerpt = choose_by(excerpt_only_has);
	excerpt.arg = only;
	write_part(excerpt);
	excerpt_only_free(only);
	assert_int_equal(query_number("SELECT count(*) FROM object"), 3);
	assert_int_equal(query_number("SELECT count(*) FROM object WHERE kind IN"
				      " ('device', 'context', 'cq')"),
			 3);
	assert_int_equal(query_number("SELECT count(*) FROM post"), 0);
	assert_int_equal(query_number("SELECT count(*) FROM wc"), 0);
}

static bool has_first_process(void *arg, const struct excerpt_item *item)
{
	(void)arg;
	return item->id.thread != 2;
}

/* Thread 3, of the first process, began after the second process, whose thread has number 2. */
TEST(a_process_remains_as_long_as_one_of_its_threads)
{
	struct writer *writer;
	struct make_world one, two;
	struct maker m[3];

	trace_close(whole);
	whole = NULL;
	writer = make_writer(from);
	make_thread(&m[0], writer, 0, 100, 101);
	make_process(&m[0], 1, 0, 0, 0);
	make_world(&m[0], &one, 17);
	make_thread(&m[1], writer, 1, 200, 201);
	make_process(&m[1], 1, 0, 0, 0);
	make_world(&m[1], &two, 18);
	make_thread(&m[2], writer, 2, 100, 102);
	make_verb(&m[2], VERB_dereg_mr, MAKE_ARGS(MAKE_PTR(&one.mr)), 0, 0);
	for (int i = 0; i < 3; i++)
		make_end(&m[i]);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(from, &whole), 0);
	write_part(choose_by(has_first_process));
	assert_int_equal(query_number("SELECT count(*) FROM thread"), 3);
	assert_int_equal(query_number("SELECT count(*) FROM process"), 2);
}

TEST(a_failure_leaves_nothing)
{
	struct excerpt excerpt = EXCERPT_ALL;
	char path[300];

	snprintf(path, sizeof(path), "%s/none/t.db", to);
	assert_int_equal(excerpt_write(whole, &excerpt, path, NULL), -ENOENT);
	snprintf(path, sizeof(path), "%s.part", to);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(excerpt_write(whole, &excerpt, to, NULL), -EEXIST);
	rmdir(path);
	assert_int_equal(access(to, F_OK), -1);
}
