/*
 * replay/state/recorded_fault.c: which event met a fault that the recorder made
 *
 * The events of the trace come from functions of the test.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/state/recorded_fault.h"
#include "replay/state/state.h"
#include "tests/test.h"

enum { MOST = 8 };

static struct replay replay;
static struct trace_event events[MOST];
static struct call calls[MOST];
static struct poll polls[MOST];
static struct mark_event marks[MOST];
static const struct notify notification;
static const struct post posted = { .verb = VERB_post_send };
static size_t nevents, at_event;
static char name[64];

size_t trace_count_faults(const struct trace *trace)
{
	(void)trace;
	return nevents;
}

int cursor_open(struct trace *trace, const struct trace_filter *filter, struct cursor **ret_cursor)
{
	(void)trace;
	assert_null(filter);
	*ret_cursor = (struct cursor *)(void *)&at_event;
	return 0;
}

int cursor_next(struct cursor *cursor, const struct trace_event **ret_event)
{
	(void)cursor;
	*ret_event = &events[at_event];
	return at_event++ < nevents;
}

void cursor_close(struct cursor *cursor)
{
	(void)cursor;
}

static struct trace_event *add_event(enum trace_event_kind kind)
{
	struct trace_event *event = &events[nevents++];

	assert_true(nevents <= MOST);
	*event = (struct trace_event){ .kind = kind, .id = { 1, nevents }, .process = 1 };
	return event;
}

static struct event_id add_call(enum verb verb)
{
	struct call *call = &calls[nevents];
	struct trace_event *event = add_event(TRACE_CALL);

	call->verb = verb;
	event->call = call;
	return event->id;
}

static struct event_id add_post(void)
{
	struct trace_event *event = add_event(TRACE_POST);

	event->post = &posted;
	return event->id;
}

static struct event_id add_poll(void)
{
	struct poll *poll = &polls[nevents];
	struct trace_event *event = add_event(TRACE_POLL);

	poll->verb = VERB_poll_cq;
	event->poll = poll;
	return event->id;
}

static struct event_id add_notify(void)
{
	struct trace_event *event = add_event(TRACE_NOTIFY);

	event->notify = &notification;
	return event->id;
}

static void add_mark(const char *text)
{
	struct mark_event *mark = &marks[nevents];

	*mark = (struct mark_event){ TRACE_MARK_FAULT, text };
	add_event(TRACE_MARK)->mark = mark;
}

static int begin_test(void **state)
{
	(void)state;
	nevents = at_event = 0;
	return 0;
}

static int end_test(void **state)
{
	(void)state;
	recorded_faults_free(&replay);
	return 0;
}

FIXTURE(begin_test, end_test);

static void learn_made(void)
{
	assert_int_equal(recorded_faults_learn(&replay), 0);
}

TEST(a_trace_without_faults_has_none)
{
	learn_made();
	assert_null(replay.recorded_faults);
	assert_int_equal(recorded_fault_error(&replay, (struct event_id){ 1, 1 }), 0);
}

TEST(a_call_fails_with_its_errno)
{
	struct event_id first = add_call(VERB_reg_mr), second = add_call(VERB_reg_mr);

	add_mark("ibv_reg_mr() fails with ENOMEM (line 3)");
	learn_made();
	assert_int_equal(recorded_fault_error(&replay, first), 0);
	assert_int_equal(recorded_fault_error(&replay, second), ENOMEM);
}

TEST(an_unknown_errno_is_none)
{
	struct event_id id = add_call(VERB_reg_mr);

	add_mark("ibv_reg_mr() fails with EVERYTHING (line 3)");
	learn_made();
	assert_int_equal(recorded_fault_error(&replay, id), 0);
}

TEST(a_call_that_is_late_does_not_fail)
{
	struct event_id id = add_call(VERB_reg_mr);

	add_mark("ibv_reg_mr() is delayed by 2000 us (line 1)");
	learn_made();
	assert_int_equal(recorded_fault_error(&replay, id), 0);
}

TEST(a_request_is_refused_in_its_post)
{
	struct event_id id = add_post();

	add_call(VERB_modify_qp);
	add_mark("a request of QP 0x11 is refused with EPERM (line 1)");
	learn_made();
	assert_int_equal(recorded_fault_error(&replay, id), EPERM);
}

TEST(a_poll_has_the_mark_before_it)
{
	struct event_id before = add_poll(), failed, after;

	add_mark("ibv_poll_cq() fails with EIO (line 1)");
	failed = add_poll();
	after = add_poll();
	learn_made();
	assert_int_equal(recorded_fault_error(&replay, before), 0);
	assert_int_equal(recorded_fault_error(&replay, failed), EIO);
	assert_int_equal(recorded_fault_error(&replay, after), 0);
}

TEST(a_notification_has_the_mark_before_it_not_that_of_a_poll)
{
	struct event_id poll, notify;

	add_mark("ibv_req_notify_cq() fails with EIO (line 1)");
	poll = add_poll();
	notify = add_notify();
	learn_made();
	assert_int_equal(recorded_fault_error(&replay, poll), 0);
	assert_int_equal(recorded_fault_error(&replay, notify), EIO);
}

TEST(librdmacm_calls_verbs_before_its_event_is_changed)
{
	struct event_id id = add_call(VERB_rdma_get_cm_event);

	add_call(VERB_modify_qp);
	add_mark("the event ESTABLISHED is REJECTED (line 1)");
	learn_made();
	assert_true(recorded_fault_cm_event(&replay, id, name));
	assert_string_equal(name, "RDMA_CM_EVENT_ESTABLISHED");
	assert_false(recorded_fault_async(&replay, id, name));
}

TEST(a_late_event_of_librdmacm_is_not_another_one)
{
	struct event_id id = add_call(VERB_rdma_get_cm_event);

	add_mark("the event ESTABLISHED is delayed by 50000 us (line 1)");
	learn_made();
	assert_false(recorded_fault_cm_event(&replay, id, name));
}

TEST(an_asynchronous_event_comes_with_a_post)
{
	struct event_id id = add_post();

	add_mark("the event QP_FATAL (line 1)");
	learn_made();
	assert_true(recorded_fault_async(&replay, id, name));
	assert_string_equal(name, "IBV_EVENT_QP_FATAL");
	assert_false(recorded_fault_cm_event(&replay, id, name));
	assert_false(recorded_fault_ended(&replay, id));
}

TEST(a_connection_ends_with_a_post)
{
	struct event_id id = add_post();

	add_mark("the connection of QP 0x11 is ended (line 1)");
	learn_made();
	assert_true(recorded_fault_ended(&replay, id));
	assert_int_equal(recorded_fault_delay(&replay, id), 0);
}

TEST(a_request_is_delayed_by_its_time)
{
	struct event_id id = add_post();

	add_mark("a request of QP 0x11 is delayed by 2000 us (line 1)");
	learn_made();
	assert_int_equal(recorded_fault_delay(&replay, id), 2000000);
	assert_false(recorded_fault_ended(&replay, id));
}
