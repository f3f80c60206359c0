/* The rules of analyzer/rules/compl.c over stored traces. */
#include <errno.h>

#include "core/store/open.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

static void begin_story(struct story *s)
{
	story_begin(s);
	open_context(s);
	story_do(s, 0, VERB_create_comp_channel, 11, W(&a_channel), W(&a_context));
	a_cq.channel = &a_channel;
	create_cq(s);
	a_cq.channel = NULL;
}

static void get_event(struct story *s, int thread)
{
	struct ibv_cq *cq = &a_cq;
	void *unused = NULL;

	story_do(s, thread, VERB_get_cq_event, 12, 0, W(&a_channel), W(&cq), W(&unused));
}

static void ack_events(struct story *s, int thread, unsigned int n)
{
	story_do(s, thread, VERB_ack_cq_events, 13, 0, W(&a_cq), W(n));
}

TEST(a_destroy_waits_for_ever)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	get_event(&s, 0);
	get_event(&s, 0);
	ack_events(&s, 0, 1);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 14);
	story_check(&s, NULL);
	f = story_only(&s, RULE_COMPL_003);
	assert_non_null(strstr(f->says, "had not returned 1.00 s later, when the process ended"));
	assert_string_equal(f->where, "ibv_destroy_cq(): cq");
	assert_non_null(strstr(f->says, "1 completion event of cq1 had been retrieved"));
	assert_int_equal(f->nsteps, 3);
	assert_int_equal(f->steps[1].moment.verb, VERB_get_cq_event);
	story_end(&s);
}

/* The trace ends with the program still waiting. */
TEST(nobody_saw_the_end)
{
	struct story s;

	begin_story(&s);
	get_event(&s, 0);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	story_tells(&s, RULE_COMPL_003, "when the trace ended");
}

static void says_that_it_waited(struct story *s)
{
	const struct unchecked_rule *last = &s->findings->unchecked[s->findings->nunchecked - 1];

	assert_int_equal(story_found(s), 0);
	assert_int_equal(last->rule, RULE_COMPL_003);
	assert_non_null(strstr(last->because, "had not returned"));
}

/* Another thread may have been about to acknowledge. */
TEST(one_that_has_just_begun_is_not_judged)
{
	struct story s;

	begin_story(&s);
	get_event(&s, 0);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	story_exit(&s, STORY_PID, 9);
	story_check(&s, NULL);
	says_that_it_waited(&s);
	story_end(&s);
}

/* The machine was too busy to let it run. */
TEST(a_thread_that_has_done_nothing_since_the_event_may_acknowledge)
{
	struct story s;

	begin_story(&s);
	get_event(&s, story_thread(&s, STORY_PID, 0, 0));
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 9);
	story_check(&s, NULL);
	says_that_it_waited(&s);
	story_end(&s);
}

TEST(a_thread_that_has_ended_does_not_acknowledge)
{
	struct story s;
	int other;

	begin_story(&s);
	other = story_thread(&s, STORY_PID, 0, 0);
	get_event(&s, other);
	atomic_store(&s.threads[other].head.ended, s.now += 1000);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 9);
	story_tells(&s, RULE_COMPL_003, "had not returned 1.00 s later, when the process ended");
}

TEST(a_thread_that_went_on_does_not_acknowledge)
{
	struct story s;

	begin_story(&s);
	get_event(&s, story_thread(&s, STORY_PID, 0, 0));
	story_do(&s, s.nthreads - 1, VERB_query_device, 20, 0, W(&a_context), W(0));
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 9);
	story_tells(&s, RULE_COMPL_003, "had not returned 1.00 s later, when the process ended");
}

/* As in an imported trace: its last event is all that is known of a killed process. */
TEST(one_whose_process_ended_at_a_time_that_nobody_saw_is_judged)
{
	struct story s;

	begin_story(&s);
	get_event(&s, 0);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	assert_int_equal(writer_end_process(s.writer, STORY_PID, (int64_t)s.now, 9), 0);
	story_tells(&s, RULE_COMPL_003, "had not returned when the process ended");
}

/* As with --rotate-size: the next part has the rest. */
TEST(one_that_goes_on_behind_the_copy_is_not_judged)
{
	struct story s;
	char path[sizeof(s.path) + 2];

	begin_story(&s);
	get_event(&s, 0);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	snprintf(path, sizeof(path), "%s.1", s.path);
	story_copy(&s, path);
	assert_int_equal(writer_finish(s.writer), 0);
	unlink(s.path);
	snprintf(s.path, sizeof(s.path), "%.*s", (int)sizeof(s.path) - 1, path);
	assert_int_equal(trace_open(s.path, &s.trace), 0);
	assert_int_equal(check_trace(s.trace, NULL, &s.findings), 0);
	says_that_it_waited(&s);
	story_end(&s);
}

TEST(all_are_acknowledged_at_once)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 5; i++)
		get_event(&s, 0);
	ack_events(&s, 0, 5);
	destroy_cq(&s, 0);
	story_finds_nothing(&s);
}

TEST(another_thread_acknowledges_during_the_destroy)
{
	struct story_call destroy;
	struct story s;
	int other;

	begin_story(&s);
	other = story_thread(&s, STORY_PID, 0, 0);
	get_event(&s, other);
	destroy = story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	ack_events(&s, other, 1);
	story_return(&s, &destroy, 0);
	story_finds_nothing(&s);
}

TEST(a_lenient_device_lets_it_pass)
{
	struct story s;

	begin_story(&s);
	get_event(&s, 0);
	destroy_cq(&s, 0);
	story_tells(&s, RULE_COMPL_003, "this device accepted this");
}

TEST(a_failed_get_is_no_event)
{
	struct ibv_cq *cq = NULL;
	void *unused = NULL;
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_get_cq_event, 12, W(-1), W(&a_channel), W(&cq), W(&unused));
	destroy_cq(&s, 0);
	story_finds_nothing(&s);
}

TEST(asynchronous_events_count_too)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_COMM_EST };
	struct story s;

	story_with_qp(&s);
	event.element.qp = &a_qp;
	for (int i = 0; i < 2; i++)
		story_do(&s, 0, VERB_get_async_event, 12, 0, W(&a_context), W(&event));
	story_do(&s, 0, VERB_ack_async_event, 13, 0, W(&event));
	story_call(&s, 0, VERB_destroy_qp, 6, W(&a_qp));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 9);
	story_tells(&s, RULE_COMPL_003, "1 asynchronous event of qp1");
}

TEST(asynchronous_events_of_a_work_queue_count_too)
{
	struct ibv_wq wq = { .context = &a_context };
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .pd = &a_pd, .cq = &a_cq };
	struct ibv_async_event event = { .event_type = IBV_EVENT_WQ_FATAL };
	struct story s;

	story_with_cq(&s);
	story_do(&s, 0, VERB_create_wq, 14, W(&wq), W(&a_context), W(&init));
	event.element.wq = &wq;
	story_do(&s, 0, VERB_get_async_event, 12, 0, W(&a_context), W(&event));
	story_call(&s, 0, VERB_destroy_wq, 6, W(&wq));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 9);
	story_tells(&s, RULE_COMPL_003, "1 asynchronous event of wq1");
}

TEST(more_is_acknowledged_than_was_got)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	get_event(&s, 0);
	ack_events(&s, 0, 1);
	ack_events(&s, 0, 2);
	destroy_cq(&s, 0);
	story_check(&s, NULL);
	f = story_only(&s, RULE_COMPL_003);
	assert_non_null(strstr(f->says, "cq1: 2 more events were acknowledged than retrieved"));
	assert_non_null(strstr(finding_advice(f), "if ibv_get_cq_event() fails, for instance"));
	assert_int_equal(f->nsteps, 4);
	assert_int_equal(f->steps[2].moment.verb, VERB_ack_cq_events);
	story_end(&s);
}

/* The event remains, and may be destroyed once more events have come. */
TEST(no_destroy_waits_for_it)
{
	struct story s;

	begin_story(&s);
	ack_events(&s, 0, 1);
	destroy_cq(&s, EBUSY);
	story_finds_nothing(&s);
}

/* The transcript has its order: the reason of the hang, then the error before it. */
TEST(the_reason_of_a_hung_call_is_the_first_finding)
{
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_alloc_pd, 14, W(&a_pd), W(&a_context));
	story_do(&s, 0, VERB_dealloc_pd, 15, 0, W(&a_pd));
	story_do(&s, 0, VERB_dealloc_pd, 16, 0, W(&a_pd));
	get_event(&s, 0);
	story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 14);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 2);
	story_end(&s);
}
