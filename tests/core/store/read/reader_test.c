#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/open.h"
#include "core/store/read/reader.h"
#include "tests/core/store/random_events.h"
#include "tests/test.h"

enum { THREADS = 3 };

static char path[256];

static void record_trace(int events)
{
	struct maker makers[THREADS];
	uint64_t empty[THREADS] = { 0 };
	struct prints made = { 0 };
	struct writer *w;

	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("reader.db"));
	unlink(path);
	w = make_writer(path);
	random_choose();
	for (uint32_t i = 0; i < THREADS; i++)
		make_thread(&makers[i], w, i, 100, 100 + (int)i);
	for (int i = 0; i < events; i++) {
		uint32_t t = (uint32_t)(random_next() % THREADS);

		random_event(&makers[t], &made, &empty[t]);
		if (i % 1000 == 999)
			assert_int_equal(writer_flush(w), 0);
	}
	for (int i = 0; i < THREADS; i++)
		make_end(&makers[i]);
	assert_int_equal(writer_finish(w), 0);
	free(made.list);
}

static void keep_print(struct prints *prints, const struct trace_event *e)
{
	prints_add(prints, e->id, e->time, print_event(e, true));
}

/* In both directions; @ret_end: the message at the end, the same both times. */
static void read_both(struct prints *cursors, struct prints *readers, int *ret_end)
{
	const struct trace_event *e;
	struct cursor *cursor;
	struct reader *reader;
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while ((*ret_end = cursor_next(cursor, &e)) > 0)
		keep_print(cursors, e);
	cursor_close(cursor);
	assert_int_equal(reader_open(trace, &reader), 0);
	while (reader_next(reader, &e) > 0)
		keep_print(readers, e);
	assert_int_equal(reader_next(reader, &e), *ret_end);
	assert_int_equal(reader_next(reader, &e), *ret_end);
	reader_close(reader);
	trace_close(trace);
}

static int assert_reads_as_a_cursor(size_t at_least)
{
	struct prints cursors = { 0 }, readers = { 0 };
	int end;

	read_both(&cursors, &readers, &end);
	assert_true(cursors.count >= at_least);
	assert_int_equal(cursors.count, readers.count);
	for (size_t i = 0; i < cursors.count; i++) {
		assert_int_equal(cursors.list[i].id.thread, readers.list[i].id.thread);
		assert_int_equal(cursors.list[i].id.n, readers.list[i].id.n);
		assert_int_equal(cursors.list[i].time, readers.list[i].time);
		assert_int_equal(cursors.list[i].hash, readers.list[i].hash);
	}
	free(cursors.list);
	free(readers.list);
	return end;
}

TEST(gives_what_a_cursor_gives)
{
	record_trace(30000);
	assert_int_equal(assert_reads_as_a_cursor(30000), 0);
	unlink(path);
}

TEST(an_empty_trace_ends_at_once)
{
	record_trace(0);
	assert_int_equal(assert_reads_as_a_cursor(0), 0);
	unlink(path);
}

TEST(events_before_a_damaged_chunk_are_given)
{
	sqlite3 *db;

	record_trace(10000);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE chunk SET data = substr(data, 1, 8) WHERE "
				      "rowid = (SELECT max(rowid) FROM chunk)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_true(assert_reads_as_a_cursor(1) < 0);
	unlink(path);
}

TEST(may_be_closed_before_the_end)
{
	static const int until[] = { 0, 1, 300, 5000 };
	const struct trace_event *e;
	struct reader *reader;
	struct trace *trace;

	record_trace(10000);
	assert_int_equal(trace_open(path, &trace), 0);
	for (size_t k = 0; k < sizeof(until) / sizeof(*until); k++) {
		assert_int_equal(reader_open(trace, &reader), 0);
		for (int i = 0; i < until[k]; i++)
			assert_int_equal(reader_next(reader, &e), 1);
		reader_close(reader);
	}
	reader_close(NULL);
	trace_close(trace);
	unlink(path);
}

/* Held until the last of them has come, then released, the latest first. */
TEST(kept_events_stay_until_they_are_released)
{
	enum { EVENTS = 30000, HELD = 5000 };
	static const struct trace_event *held[HELD];
	struct prints prints = { 0 };
	const struct trace_event *e;
	struct reader *reader;
	struct trace *trace;
	size_t given = 0;

	record_trace(EVENTS);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(reader_open_kept(trace, &reader), 0);
	for (; given < HELD; given++) {
		assert_int_equal(reader_next(reader, &e), 1);
		held[given] = e;
		keep_print(&prints, e);
	}
	for (size_t i = HELD; i-- > 0; reader_release(reader, held[i]))
		assert_int_equal(prints.list[i].hash, print_event(held[i], true));
	for (; reader_next(reader, &e) > 0; given++)
		reader_release(reader, e);
	assert_true(given >= EVENTS);
	reader_close(reader);
	assert_int_equal(reader_open_kept(trace, &reader), 0); /* none is released */
	assert_int_equal(reader_next(reader, &e), 1);
	reader_close(reader);
	free(prints.list);
	trace_close(trace);
	unlink(path);
}

static struct {
	pthread_t caller;
	unsigned int calls;
	uint64_t events;
	int64_t time;
} told;

static void on_progress(uint64_t events, int64_t time)
{
	assert_true(pthread_equal(pthread_self(), told.caller));
	assert_true(events >= told.events && time >= told.time);
	told.calls++;
	told.events = events;
	told.time = time;
}

TEST(the_reading_thread_gets_its_progress)
{
	enum { EVENTS = 30000, BATCH = 256 };
	const struct trace_event *e;
	struct reader *reader;
	struct trace *trace;
	uint64_t given = 0;

	record_trace(EVENTS);
	memset(&told, 0, sizeof(told));
	told.caller = pthread_self();
	assert_int_equal(trace_open(path, &trace), 0);
	trace_on_progress(trace, on_progress);
	assert_int_equal(reader_open(trace, &reader), 0);
	while (reader_next(reader, &e) > 0)
		assert_true(++given - told.events <= BATCH);
	assert_true(given >= EVENTS && told.calls >= EVENTS / BATCH);
	reader_close(reader);
	trace_close(trace);
	unlink(path);
}

/* Posts and polls that are mostly repeated, with a queue pair that is replaced by another one. */
static void record_repeated(int events)
{
	struct writer *w = make_writer(path);
	struct make_world world;
	struct maker m;

	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	for (int i = 0; i < events; i++) {
		uint64_t wr_id = random_next() % 16 == 0;
		const void *queue = random_next() % 4 ? (void *)&world.qp : &m;
		struct event_wc wc = make_wc(wr_id, 0, 0, 17);

		if (random_next() % 3 == 0)
			make_poll(&m, queue, random_next() % 4, &wc, 1);
		else if (random_next() % 2)
			make_post(&m, VERB_post_recv, queue, wr_id, 0, 0);
		else
			make_post(&m, VERB_post_send, queue, wr_id,
				  random_next() % 32 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 0);
		if (i % 1000 == 999) {
			make_verb(&m, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&world.qp)), 0, 0);
			make_verb(&m, VERB_create_qp,
				  MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&world.init)),
				  (int64_t)MAKE_PTR(&world.qp), 0);
		}
	}
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
}

/* A hash of what is the same in an event that is there again. */
static uint64_t print_repeated(const struct trace_event *e)
{
	struct poll poll;

	if (e->kind == TRACE_POST)
		return print_event(e, true);
	poll = *e->poll;
	poll.empty = 0;
	return print_poll(&poll, e->inner);
}

static uint64_t *last_print(const struct trace_event *e)
{
	static struct {
		enum verb verb;
		uint64_t handle, print;
	} last[16];
	uint64_t handle = e->kind == TRACE_POST ? e->post->handle : e->poll->handle;
	size_t i = 0;

	while (last[i].handle && (last[i].handle != handle || last[i].verb != trace_verb(e)))
		i++;
	last[i].verb = trace_verb(e);
	last[i].handle = handle;
	return &last[i].print;
}

TEST(an_event_that_is_there_again_is_the_last_one)
{
	enum { EVENTS = 30000 };
	const struct trace_event *e;
	struct reader *reader;
	struct trace *trace;
	size_t again = 0;

	snprintf(path, sizeof(path), "%s", make_path("again.db"));
	unlink(path);
	random_choose();
	record_repeated(EVENTS);
	assert_reads_as_a_cursor(EVENTS);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(reader_open(trace, &reader), 0);
	while (reader_next(reader, &e) > 0) {
		if (e->kind != TRACE_POST && e->kind != TRACE_POLL)
			continue;
		if (e->again)
			assert_int_equal(*last_print(e), print_repeated(e));
		*last_print(e) = print_repeated(e);
		again += e->again;
	}
	assert_true(again > EVENTS / 2);
	reader_close(reader);
	trace_close(trace);
	unlink(path);
}
