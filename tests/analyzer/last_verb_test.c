/* analyzer/model/last_verb.c: the last verb of each thread and process. */
#include "analyzer/model/last_verb.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/model/model_state.h"
#include "tests/test.h"

enum { PROCESS = 3 };

static struct model model;

static void forget_all(void)
{
	last_verb_fini(&model);
	model = (struct model){ 0 };
}

static void note_event(struct trace_event *event, uint32_t thread, uint64_t n, int64_t time)
{
	event->id = (struct event_id){ thread, n };
	event->process = PROCESS;
	event->time = time;
	assert_int_equal(last_verb_note(&model, event), 0);
}

static void note_post(uint32_t thread, uint64_t n, int64_t time, int ret)
{
	static const struct wr wr;
	struct post post = { .verb = VERB_post_send,
			     .handle = 0x10,
			     .ret = ret,
			     .bad = ret != 0,
			     .nwr = 1,
			     .wr = &wr };

	note_event(&(struct trace_event){ .kind = TRACE_POST, .post = &post }, thread, n, time);
}

static void note_poll(uint32_t thread, uint64_t n, int64_t time, uint32_t nwc)
{
	struct poll poll = { .verb = VERB_poll_cq, .handle = 0x20, .nwc = nwc };

	note_event(&(struct trace_event){ .kind = TRACE_POLL, .poll = &poll }, thread, n, time);
}

static void note_call(enum trace_event_kind kind, uint32_t thread, uint64_t n, int64_t time,
		      unsigned int depth)
{
	struct call call = { .verb = VERB_query_qp, .stack = 7, .depth = depth };

	note_event(&(struct trace_event){ .kind = kind, .call = &call }, thread, n, time);
}

TEST(nothing_is_known_of_a_thread_without_a_verb)
{
	forget_all();
	assert_null(last_verb_of_thread(&model, 1));
	assert_null(last_verb_of_process(&model, PROCESS));
	assert_int_equal(last_verb_time(&model, PROCESS), 0);
	assert_int_equal(last_verb_progress(&model, PROCESS), 0);
	note_call(TRACE_CALL, 2, 1, 100, 1); /* inside another one */
	assert_null(last_verb_of_thread(&model, 2));
}

TEST(the_last_verb_has_its_object_and_its_end)
{
	const struct last_verb *last;

	forget_all();
	note_call(TRACE_CALL, 1, 1, 100, 0);
	note_call(TRACE_RETURN, 1, 1, 140, 0);
	last = last_verb_of_thread(&model, 1);
	assert_int_equal(last->at.time, 100);
	assert_int_equal(last->returned, 140);
	assert_int_equal(last->stack, 7);
	assert_int_equal(last_verb_kind(last), OBJECT_COUNT);
	note_post(1, 2, 150, 0);
	assert_int_equal(last->at.id.n, 2);
	assert_int_equal(last->returned, 150);
	assert_int_equal(last->handle, 0x10);
	assert_int_equal(last_verb_kind(last), OBJECT_qp);
	note_poll(1, 3, 160, 0);
	assert_int_equal(last_verb_kind(last), OBJECT_cq);
	assert_int_equal(last_verb_moment(last).verb, VERB_poll_cq);
	/* an event that is not a verb of the program shows that it continued */
	note_event(&(struct trace_event){ .kind = TRACE_MEMORY }, 1, 4, 170);
	assert_int_equal(last->at.id.n, 3);
	assert_int_equal(last_verb_kind(last), OBJECT_COUNT);
}

TEST(the_last_verb_of_a_process_is_that_of_any_thread)
{
	forget_all();
	note_post(2, 1, 100, 0);
	note_poll(1, 1, 120, 0);
	assert_int_equal(last_verb_of_process(&model, PROCESS)->at.id.thread, 1);
	note_post(2, 2, 130, ENOMEM);
	assert_int_equal(last_verb_of_process(&model, PROCESS)->at.id.thread, 2);
	assert_int_equal(last_verb_time(&model, PROCESS), 130);
}

TEST(only_requests_taken_and_completions_are_progress)
{
	forget_all();
	note_post(1, 1, 100, 0);
	note_post(1, 2, 110, ENOMEM);
	note_poll(1, 3, 120, 0);
	assert_int_equal(last_verb_progress(&model, PROCESS), 100);
	note_poll(1, 4, 130, 1);
	assert_int_equal(last_verb_progress(&model, PROCESS), 130);
	assert_int_equal(last_verb_process(&model, PROCESS).polled, 130);
	assert_int_equal(last_verb_process(&model, PROCESS).posted, 100);
	note_post(1, 5, 140, 0);
	assert_int_equal(last_verb_progress(&model, PROCESS), 140);
}

TEST(the_longest_silence_is_between_two_verbs_of_any_threads)
{
	struct last_silence silence;

	forget_all();
	note_post(1, 1, 1000, 0); /* the time before it does not count */
	assert_int_equal(last_verb_process(&model, PROCESS).silence.to.time, 0);
	note_post(2, 1, 1300, 0);
	note_post(1, 2, 1500, 0);
	note_post(1, 3, 1799, 0);
	silence = last_verb_process(&model, PROCESS).silence;
	assert_int_equal(silence.from.time, 1000);
	assert_int_equal(silence.to.time, 1300);
	assert_int_equal(silence.to.id.thread, 2);
	note_post(2, 2, 2100, 0);
	assert_int_equal(last_verb_process(&model, PROCESS).silence.from.time, 1799);
	forget_all();
}
