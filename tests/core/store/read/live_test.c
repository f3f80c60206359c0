#include <malloc.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "core/store/open.h"
#include "core/store/read/live.h"
#include "tests/core/store/random_events.h"
#include "tests/test.h"

enum { THREADS = 3, STACKS = 5 };

static struct ibv_context context;
static struct ibv_pd pd = { .context = &context };

static void read_some(struct cursor *cursor, struct prints *prints)
{
	const struct trace_event *e;
	int more;

	while ((more = cursor_next(cursor, &e)) > 0)
		prints_add(prints, e->id, e->time, print_event(e, true));
	assert_int_equal(more, 0);
}

static void read_file(const char *path, struct prints *prints)
{
	struct cursor *cursor;
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	read_some(cursor, prints);
	cursor_close(cursor);
	trace_close(trace);
}

/* A few more of those that were settled last: later events are in the tables only in part. */
static void read_few(struct cursor *cursor, struct prints *prints)
{
	const struct trace_event *e;
	int more = 1;

	for (uint64_t n = random_next() % 4; n && more > 0; n--) {
		more = cursor_next(cursor, &e);
		if (more > 0)
			prints_add(prints, e->id, e->time, print_event(e, true));
	}
	assert_true(more >= 0);
}

static void follow_some(struct writer *w, struct cursor *cursor, struct prints *prints)
{
	int64_t now = (int64_t)clock_ns(&make_clock, make_now);

	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, now - (int64_t)(random_next() % 300)), 0);
	if (random_next() % 4)
		read_some(cursor, prints);
}

/*
 * The writer's events, followed with looks at random moments: the result must be that of reading
 * the file.
 */
TEST(what_is_followed_is_what_is_read)
{
	struct prints made = { 0 }, followed = { 0 }, read = { 0 };
	struct maker makers[THREADS];
	uint64_t empty[THREADS] = { 0 };
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	char path[256];

	random_choose();
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("live.db"));
	unlink(path);
	make_calls_plain = 3; /* some calls are rows at once, others are in blocks later */
	w = make_writer(path);
	assert_int_equal(trace_follow(w, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		make_thread(&makers[i], w, i, 100, 100 + (int)i);
	for (int i = 0; i < 30000; i++) {
		uint32_t t = (uint32_t)(random_next() % THREADS);

		random_event(&makers[t], &made, &empty[t]);
		if (random_next() % 40 == 0)
			follow_some(w, cursor, &followed);
		else if (random_next() % 8 == 0)
			read_few(cursor, &followed);
		if (random_next() % 5000 == 0)
			assert_int_equal(writer_flush(w), 0);
	}
	for (int i = 0; i < THREADS; i++)
		make_end(&makers[i]);
	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, INT64_MAX), 0);
	read_some(cursor, &followed);
	assert_int_equal(cursor_late_events(cursor), 0);
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	read_file(path, &read);
	assert_int_equal(followed.count, read.count);
	for (size_t i = 0; i < read.count; i++) {
		assert_int_equal(followed.list[i].id.thread, read.list[i].id.thread);
		assert_int_equal(followed.list[i].id.n, read.list[i].id.n);
		assert_int_equal(followed.list[i].time, read.list[i].time);
		assert_int_equal(followed.list[i].hash, read.list[i].hash);
	}
	free(made.list);
	free(followed.list);
	free(read.list);
	unlink(path);
}

static void follow_trace(const char *path, struct writer **ret_writer, struct trace **ret_trace,
			 struct cursor **ret_cursor)
{
	make_now = 1000;
	unlink(path);
	*ret_writer = make_writer(path);
	assert_int_equal(trace_follow(*ret_writer, ret_trace), 0);
	assert_int_equal(cursor_open(*ret_trace, NULL, ret_cursor), 0);
}

/* The call before the last one is in a block that is not stored yet, and another thread calls. */
TEST(a_call_that_is_stored_first_is_not_read_first)
{
	struct prints read = { 0 };
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	struct maker m, other;
	char path[256];

	snprintf(path, sizeof(path), "%s", make_path("first.db"));
	make_calls_plain = 3;
	follow_trace(path, &w, &trace, &cursor);
	make_thread(&m, w, 0, 100, 100);
	make_thread(&other, w, 1, 100, 101);
	for (int i = 0; i < 4; i++)
		make_verb(&m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&pd)), 0, 0);
	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, INT64_MAX), 0);
	make_verb(&m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&pd)), 0, 0);
	make_verb(&other, VERB_close_device, MAKE_ARGS(MAKE_PTR(&context)), 0, 0);
	make_verb(&m, VERB_close_device, MAKE_ARGS(MAKE_PTR(&context)), 0, 0);
	read_some(cursor, &read);
	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, INT64_MAX), 0);
	read_some(cursor, &read);
	assert_int_equal(read.count, 14);
	assert_int_equal(cursor_late_events(cursor), 0);
	for (size_t i = 1; i < read.count; i++)
		assert_true(read.list[i - 1].time <= read.list[i].time);
	cursor_close(cursor);
	trace_close(trace);
	make_end(&m);
	make_end(&other);
	assert_int_equal(writer_finish(w), 0);
	free(read.list);
	unlink(path);
}

/* After a destroy its address may be reused; names count on, ids are not reused. */
TEST(objects_come_and_go)
{
	const char *path = make_path("objects.db");
	const struct trace_event *e;
	const struct object *o = NULL;
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	struct maker m;
	uint32_t last = 0;

	follow_trace(path, &w, &trace, &cursor);
	make_thread(&m, w, 0, 100, 100);
	for (int i = 1; i <= 3; i++) {
		make_verb(&m, VERB_alloc_pd, MAKE_ARGS(MAKE_PTR(&context)), (int64_t)MAKE_PTR(&pd),
			  0);
		make_verb(&m, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&pd)), 0, 0);
		make_drain(&m);
		assert_int_equal(writer_store_logs(w), 0);
		assert_int_equal(cursor_extend(cursor, INT64_MAX / 2), 0);
		while (cursor_next(cursor, &e) > 0)
			if (e->kind == TRACE_RETURN && e->call->object)
				o = trace_object(trace, e->call->object);
		assert_non_null(o);
		assert_int_equal(o->ordinal, i);
		assert_true(o->id > last);
		last = o->id;
		assert_ptr_equal(trace_object_at(trace, 1, OBJECT_pd, MAKE_PTR(&pd), 0), o);
	}
	make_end(&m);
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	unlink(path);
}

static uint32_t make_pd(struct live *live, enum verb verb, uint64_t handle)
{
	struct call call = { .verb = verb, .end = 1, .handle = handle };
	struct trace_event event = { .kind = TRACE_RETURN, .process = 1, .call = &call };

	assert_int_equal(live_note_call(live, &event, &call), 0);
	assert_int_not_equal(call.object, 0);
	return call.object;
}

static uint32_t make_pd_at(struct live *live, struct event_id id, uint64_t handle)
{
	struct call call = { .verb = VERB_alloc_pd, .end = 1, .handle = handle };
	struct trace_event event = { .kind = TRACE_RETURN, .id = id, .process = 1, .call = &call };

	assert_int_equal(live_note_call(live, &event, &call), 0);
	return call.object;
}

/* A library creates an object inside another creation, whose event begins before; else the object
 * that was there has been destroyed unseen. */
TEST(creation_inside_a_creation_is_one_object)
{
	const char *path = make_path("inside.db");
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	uint32_t inner;

	follow_trace(path, &w, &trace, &cursor);
	inner = make_pd_at(trace->live, (struct event_id){ 1, 5 }, 64);
	assert_int_equal(make_pd_at(trace->live, (struct event_id){ 1, 4 }, 64), inner);
	assert_int_not_equal(make_pd_at(trace->live, (struct event_id){ 1, 4 }, 64), inner);
	assert_string_equal(live_at(trace->live, 1, OBJECT_pd, 64)->name, "pd2");
	make_pd_at(trace->live, (struct event_id){ 2, 3 }, 64);
	assert_string_equal(live_at(trace->live, 1, OBJECT_pd, 64)->name, "pd3");
	make_pd_at(trace->live, (struct event_id){ 2, 9 }, 64);
	assert_string_equal(live_at(trace->live, 1, OBJECT_pd, 64)->name, "pd4");
	make_pd_at(trace->live, (struct event_id){ 1, 4 }, 64);
	assert_string_equal(live_at(trace->live, 1, OBJECT_pd, 64)->name, "pd5");
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	unlink(path);
}

/* What was destroyed keeps its name, also when its address is that of another object. */
TEST(a_name_outlives_the_address)
{
	const char *path = make_path("names.db");
	const struct object *was;
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	uint32_t first;

	follow_trace(path, &w, &trace, &cursor);
	first = make_pd(trace->live, VERB_alloc_pd, 64);
	make_pd(trace->live, VERB_dealloc_pd, 64);
	make_pd(trace->live, VERB_alloc_pd, 64);
	was = trace_object(trace, first);
	assert_non_null(was);
	assert_string_equal(was->name, "pd1");
	assert_string_equal(live_at(trace->live, 1, OBJECT_pd, 64)->name, "pd2");
	for (uint64_t i = 0; i < LIVE_DEAD; i++) { /* not forever */
		make_pd(trace->live, VERB_dealloc_pd, 64);
		make_pd(trace->live, VERB_alloc_pd, 64);
	}
	assert_null(trace_object(trace, first));
	assert_non_null(trace_object(trace, first + 1));
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	unlink(path);
}

/* A call that has not returned is returned without its end, and its return when that comes. */
TEST(return_comes_later)
{
	const char *path = make_path("return.db");
	const struct trace_event *e;
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	struct maker m;
	uint32_t call;

	follow_trace(path, &w, &trace, &cursor);
	make_thread(&m, w, 0, 100, 100);
	call = make_call(&m, VERB_dealloc_pd, 0, 0, MAKE_ARGS(MAKE_PTR(&pd)));
	make_drain(&m);
	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, INT64_MAX / 2), 0);
	assert_int_equal(cursor_next(cursor, &e), 1);
	assert_int_equal(e->kind, TRACE_CALL);
	assert_int_equal(e->call->end, -1);
	assert_int_equal(cursor_next(cursor, &e), 0);
	make_return(&m, call, VERB_dealloc_pd, MAKE_ARGS(MAKE_PTR(&pd)), 16, 0);
	make_drain(&m);
	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, INT64_MAX / 2), 0);
	assert_int_equal(cursor_next(cursor, &e), 1);
	assert_int_equal(e->kind, TRACE_RETURN);
	assert_int_equal(e->call->ret, 16);
	assert_int_equal(cursor_next(cursor, &e), 0);
	make_end(&m);
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	unlink(path);
}

/* Objects without a number are not all in one chain of the hash table: this took minutes. */
TEST(many_objects_are_told_apart_at_once)
{
	const char *path = make_path("many.db");
	enum { MANY = 100000 };
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;

	follow_trace(path, &w, &trace, &cursor);
	for (uint64_t i = 1; i <= MANY; i++)
		make_pd(trace->live, VERB_alloc_pd, i * 64);
	for (uint64_t i = 1; i <= MANY; i++) {
		make_pd(trace->live, VERB_dealloc_pd, i * 64);
		make_pd(trace->live, VERB_alloc_pd, i * 64);
	}
	assert_int_equal(live_at(trace->live, 1, OBJECT_pd, 64 * MANY)->ordinal, 2 * MANY);
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	unlink(path);
}

static void read_stacks(struct trace *trace, unsigned int max, struct frame *frames,
			unsigned int *counts)
{
	for (uint32_t id = 1; id <= STACKS; id++) {
		counts[id - 1] = trace_stack(trace, id, frames, max);
		frames += max;
	}
}

/* As many frames as fit, and the same as those of the file. */
TEST(stacks_are_those_of_the_file)
{
	const char *path = make_path("stacks.db");
	struct frame followed[STACKS * 3] = { 0 }, frames[STACKS * 3];
	unsigned int counts[STACKS], counts_of_file[STACKS];
	struct make_world world;
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	struct maker m;

	for (unsigned int max = 1; max <= 3; max++) {
		follow_trace(path, &w, &trace, &cursor);
		make_thread(&m, w, 0, 100, 101);
		make_process(&m, 1, 0, 0, 0);
		make_module(&m, 0x400000, 0x401000, 0x401fff, "/usr/bin/app");
		make_world(&m, &world, 17);
		make_end(&m);
		assert_int_equal(writer_store_logs(w), 0);
		assert_int_equal(cursor_extend(cursor, INT64_MAX / 2), 0);
		read_stacks(trace, max, followed, counts);
		assert_int_equal(counts[0], max < 2 ? max : 2);
		assert_string_equal(followed[0].module, "/usr/bin/app");
		for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++)
			followed[i].module = followed[i].build_id = NULL; /* the trace has them */
		cursor_close(cursor);
		trace_close(trace);
		assert_int_equal(writer_finish(w), 0);
		assert_int_equal(trace_open(path, &trace), 0);
		read_stacks(trace, max, frames, counts_of_file);
		assert_memory_equal(counts, counts_of_file, sizeof(counts));
		for (size_t i = 0; i < STACKS; i++)
			for (unsigned int k = 0; k < counts[i]; k++) {
				assert_int_equal(followed[i * max + k].ip, frames[i * max + k].ip);
				assert_int_equal(followed[i * max + k].offset,
						 frames[i * max + k].offset);
			}
		trace_close(trace);
		unlink(path);
	}
}

/* A program that leaves all its objects to exit(): queue pairs full of requests. */
static void live_and_die(struct writer *w, struct cursor *cursor, int pid)
{
	const struct trace_event *e;
	struct make_world world;
	struct ibv_qp qps[50];
	bool ended = false;
	struct maker m;

	make_thread(&m, w, (uint32_t)pid, pid, pid);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 1);
	for (int q = 0; q < 50; q++) {
		qps[q] = world.qp;
		qps[q].qp_num = (uint32_t)q + 2;
		make_verb(&m, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&world.init)),
			  (int64_t)MAKE_PTR(&qps[q]), 0);
		for (uint64_t i = 0; i < 200; i++)
			make_post(&m, VERB_post_recv, &qps[q], i, 0, 0);
	}
	make_end(&m);
	assert_int_equal(writer_end_process(w, pid, (int64_t)make_now, 0), 0);
	assert_int_equal(writer_store_logs(w), 0);
	assert_int_equal(cursor_extend(cursor, INT64_MAX / 2), 0);
	while (cursor_next(cursor, &e) > 0)
		ended |= e->kind == TRACE_EXIT;
	assert_true(ended);
}

/* The outstanding requests of a process are dropped when it ends. */
TEST(memory_is_that_of_who_lives)
{
	const char *path = make_path("memory.db");
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	size_t before;

	follow_trace(path, &w, &trace, &cursor);
	for (int pid = 100; pid < 110; pid++)
		live_and_die(w, cursor, pid);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (int pid = 110; pid < 160; pid++)
		live_and_die(w, cursor, pid);
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 0, before + (6 << 20));
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	unlink(path);
}

static uint32_t make_mark(struct maker *m, enum event_mark_kind kind, const char *text)
{
	size_t n = strlen(text), bytes = make_round(sizeof(struct event_mark) + n);
	struct event_mark *e = make_room(m, EVENT_MARK, 0, bytes);

	e->kind = (uint16_t)kind;
	e->bytes = (uint16_t)n;
	memcpy(e + 1, text, n);
	return make_done(m, e, bytes);
}

static void expect_faults(const struct trace *trace, struct event_id failed)
{
	struct event_id id = { 0 };

	assert_int_equal(trace_count_faults(trace), 2);
	assert_string_equal(trace_nth_fault(trace, 0, &id), "ibv_reg_mr() fails");
	assert_int_equal(id.thread, failed.thread);
	assert_int_equal(id.n, failed.n + 1);
	assert_string_equal(trace_nth_fault(trace, 1, &id), "late");
	assert_int_equal(id.n, failed.n + 3);
	id = (struct event_id){ 7, 7 };
	assert_null(trace_nth_fault(trace, 2, &id));
	assert_int_equal(id.n, 7);
	assert_string_equal(trace_made_fault(trace, failed), "ibv_reg_mr() fails");
	failed.n++;
	assert_null(trace_made_fault(trace, failed));
	assert_null(trace_made_fault_before(trace, failed));
	failed.n++;
	assert_string_equal(trace_made_fault_before(trace, failed), "ibv_reg_mr() fails");
	failed.thread++;
	assert_null(trace_made_fault_before(trace, failed));
}

/* A mark of the program is none. */
TEST(faults_are_those_of_the_file)
{
	const char *path = make_path("faults.db");
	struct event_id failed = { .thread = 1 };
	struct cursor *cursor;
	struct trace *trace;
	struct writer *w;
	struct maker m;

	follow_trace(path, &w, &trace, &cursor);
	make_thread(&m, w, 0, 100, 100);
	assert_int_equal(trace_count_faults(trace), 0);
	failed.n = make_mark(&m, MARK_POINT, "here");
	make_mark(&m, MARK_FAULT, "ibv_reg_mr() fails");
	make_mark(&m, MARK_BEGIN, "phase");
	make_mark(&m, MARK_FAULT, "late");
	make_drain(&m);
	assert_int_equal(writer_store_logs(w), 0);
	expect_faults(trace, failed);
	make_end(&m);
	cursor_close(cursor);
	trace_close(trace);
	assert_int_equal(writer_finish(w), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	expect_faults(trace, failed);
	trace_close(trace);
	unlink(path);
}
