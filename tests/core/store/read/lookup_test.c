#include <errno.h>

#include "core/store/db/schema.h"
#include "core/store/open.h"
#include "core/store/read/lookup.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static uint32_t last_post, last_poll;

static void make_mark(struct maker *m, enum event_mark_kind kind, const char *text)
{
	size_t n = strlen(text), bytes = make_round(sizeof(struct event_mark) + n);
	struct event_mark *e = make_room(m, EVENT_MARK, 0, bytes);

	e->kind = (uint16_t)kind;
	e->bytes = (uint16_t)n;
	memcpy(e + 1, text, n);
	make_done(m, e, bytes);
}

/* Two phases; two requests, of which the second has failed; 7 empty polls, then one of two. */
static int make_trace(void **state)
{
	struct make_world world;
	struct event_wc wcs[2];
	struct writer *w;
	struct maker m;

	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("trace.db"));
	w = make_writer(path);
	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	make_mark(&m, MARK_BEGIN, "warm up");
	make_mark(&m, MARK_END, "warm up");
	make_mark(&m, MARK_BEGIN, "step");
	make_mark(&m, MARK_POINT, "point");
	make_post(&m, VERB_post_send, &world.qp, 1, IBV_WR_SEND, IBV_SEND_SIGNALED);
	last_post = make_post(&m, VERB_post_send, &world.qp, 2, IBV_WR_SEND, IBV_SEND_SIGNALED);
	wcs[0] = make_wc(1, IBV_WC_SUCCESS, IBV_WC_SEND, 17);
	wcs[1] = make_wc(2, IBV_WC_RETRY_EXC_ERR, IBV_WC_SEND, 17);
	last_poll = make_poll(&m, &world.cq, 7, wcs, 2);
	make_end(&m);
	return writer_finish(w);
}

static int remove_trace(void **state)
{
	(void)state;
	return unlink(path);
}

FIXTURE(make_trace, remove_trace);

static struct trace *open_trace(void)
{
	struct trace *trace;

	assert_int_equal(trace_open(path, &trace), 0);
	return trace;
}

TEST(time_of_an_event_is_found)
{
	struct trace *trace = open_trace();
	int64_t post = 0, poll = 0;

	assert_int_equal(lookup_time(trace, (struct event_id){ 1, last_post }, &post), 1);
	assert_int_equal(lookup_time(trace, (struct event_id){ 1, last_poll }, &poll), 1);
	assert_int_equal(poll - post, 1);
	assert_int_equal(lookup_time(trace, (struct event_id){ 1, last_poll + 1 }, &poll), 0);
	assert_int_equal(lookup_time(trace, (struct event_id){ 2, 1 }, &poll), 0);
	trace_close(trace);
}

TEST(completion_is_found_by_status_and_index)
{
	const struct event_id poll = { 1, last_poll };
	struct trace *trace = open_trace();
	uint32_t i = 9;

	assert_int_equal(lookup_completion(trace, poll, IBV_WC_RETRY_EXC_ERR, true, 0, &i), 1);
	assert_int_equal(i, 1);
	assert_int_equal(lookup_completion(trace, poll, IBV_WC_RETRY_EXC_ERR, false, 1, &i), 1);
	assert_int_equal(lookup_completion(trace, poll, IBV_WC_RETRY_EXC_ERR, false, 0, &i), 0);
	assert_int_equal(lookup_completion(trace, poll, IBV_WC_FATAL_ERR, true, 0, &i), 0);
	trace_close(trace);
}

TEST(polls_are_counted_by_cq)
{
	struct trace *trace = open_trace();
	struct lookup_polls polls;
	uint32_t cq = 1;

	while (trace_object(trace, cq)->kind != OBJECT_cq)
		cq++;
	assert_int_equal(lookup_polls(trace, cq, &polls), 0);
	assert_int_equal(polls.empty, 7);
	assert_int_equal(polls.completions, 2);
	assert_int_equal(polls.threads, 1);
	assert_int_equal(lookup_polls(trace, cq + 1, &polls), 0);
	assert_int_equal(polls.empty + polls.completions + polls.threads, 0);
	trace_close(trace);
}

struct counted {
	int n;
	struct lookup_count last;
};

static void note_count(void *arg, const struct lookup_count *count)
{
	struct counted *counted = arg;

	counted->n++;
	counted->last = *count;
}

TEST(polls_are_counted_by_thread_and_cq)
{
	struct trace *trace = open_trace();
	struct counted counted = { 0 };

	assert_int_equal(lookup_counts(trace, 1, LOOKUP_BY_CQ, note_count, &counted), 0);
	assert_int_equal(counted.n, 1);
	assert_int_equal(counted.last.thread, 1);
	assert_int_equal(counted.last.process, 1);
	assert_int_equal(trace_object(trace, counted.last.object)->kind, OBJECT_cq);
	assert_int_equal(counted.last.empty, 7);
	assert_int_equal(counted.last.polls, 1);
	assert_int_equal(lookup_counts(trace, 2, LOOKUP_BY_CQ, note_count, &counted), 0);
	assert_int_equal(counted.n, 1);
	assert_int_equal(lookup_counts(trace, 0, LOOKUP_BY_CQ, note_count, &counted), 0);
	assert_int_equal(counted.n, 2);
	trace_close(trace);
}

TEST(polls_are_counted_by_the_life_of_an_address)
{
	struct trace *trace = open_trace();
	struct counted counted = { 0 };

	assert_int_equal(lookup_counts(trace, 1, LOOKUP_BY_LIFE, note_count, &counted), 0);
	assert_int_equal(counted.n, 1);
	assert_int_equal(counted.last.cq, trace_object(trace, counted.last.object)->handle);
	assert_int_equal(counted.last.empty, 7);
	assert_true(counted.last.last > 0);
	trace_close(trace);
}

TEST(calls_are_found_by_pattern)
{
	struct trace *trace = open_trace();

	assert_true(lookup_has_call(trace, "ibv_create_qp"));
	assert_true(lookup_has_call(trace, "ibv_create_*"));
	assert_false(lookup_has_call(trace, "rdma_*"));
	assert_false(lookup_has_module(trace, "%"));
	trace_close(trace);
}

TEST(format_is_that_of_the_file)
{
	struct trace *trace = open_trace();

	assert_int_equal(lookup_format(trace), SCHEMA_VERSION);
	trace_close(trace);
}

static void add_phase(void *to, const char *text, size_t bytes)
{
	strncat(to, text, bytes);
	strcat(to, ";");
}

TEST(phases_come_in_the_order_of_their_begins)
{
	struct trace *trace = open_trace();
	char phases[64] = "";

	lookup_phases(trace, add_phase, phases);
	assert_string_equal(phases, "warm up;step;");
	assert_true(lookup_has_phase(trace, "step", 0));
	assert_true(lookup_has_phase(trace, "step", 1));
	assert_false(lookup_has_phase(trace, "step", 2));
	assert_false(lookup_has_phase(trace, "point", 0));
	trace_close(trace);
}

TEST(what_is_not_there_is_zero)
{
	struct trace *trace = open_trace();
	struct lookup_waited waited = { .times = 1 };
	char why[8] = "x";

	assert_int_equal(lookup_waited(trace, &waited), 0);
	assert_int_equal(waited.times, 0);
	assert_int_equal(waited.longest, 0);
	assert_int_equal(lookup_payload_bytes(trace), 0);
	lookup_unwritten(trace, why, sizeof(why));
	assert_string_equal(why, "");
	assert_false(lookup_has_ethernet(trace));
	trace_close(trace);
}
