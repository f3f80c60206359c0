/*
 * replay/data/faults_learn.c: which errors of a trace are injected, and where
 *
 * QP and OTHER are queue pairs; the events of the trace come from functions of the test.
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/data/faults_priv.h"
#include "replay/state/recorded_fault.h"
#include "replay/state/state.h"
#include "tests/test.h"

enum { QP = 1, OTHER, NOBJECTS, MOST = 8 };

static struct replay replay;
static struct fault_plan plan;
static struct trace_event events[MOST];
static struct poll polls[MOST];
static struct wc wcs[MOST];
static struct call calls[MOST];
static size_t nevents, at_event;
static bool has_errors;

bool trace_has_errors(struct trace *trace)
{
	(void)trace;
	return has_errors;
}

int recorded_faults_learn(struct replay *r)
{
	(void)r;
	return 0;
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

const struct object *trace_object_at(struct trace *trace, uint32_t process, enum object_kind kind,
				     uint64_t handle, int64_t time)
{
	static struct object object;

	(void)trace;
	assert_int_equal(process, 1);
	assert_int_equal(kind, OBJECT_qp);
	object.id = (uint32_t)handle;
	return handle <= OTHER && time < 100 ? &object : NULL;
}

static struct trace_event *add_event(enum trace_event_kind kind)
{
	events[nevents] = (struct trace_event){
		.kind = kind, .id = { 1, nevents + 1 }, .process = 1, .time = 10
	};
	return &events[nevents++];
}

/* A completion of the request of event 1:40, the third of its list. */
static struct wc *add_wc(uint32_t qp, int status)
{
	struct trace_event *event;

	wcs[nevents] = (struct wc){ .qp = qp,
				    .status = status,
				    .vendor_err = 0x81,
				    .request = { 1, 40 },
				    .request_index = 2 };
	polls[nevents] = (struct poll){ .verb = VERB_poll_cq, .nwc = 1, .wc = &wcs[nevents] };
	event = add_event(TRACE_POLL);
	event->poll = &polls[event - events];
	return &wcs[event - events];
}

static void add_modify(uint32_t qp, int state)
{
	struct trace_event *event;
	char text[64];

	snprintf(text, sizeof(text), "{\"attr\":{\"qp_state\":%d}}", state);
	calls[nevents] = (struct call){ .verb = VERB_modify_qp,
					.object = qp,
					.args = args_new(text, strlen(text)) };
	event = add_event(TRACE_CALL);
	event->call = &calls[event - events];
}

static struct trace_event *add_async(uint32_t qp, enum ibv_event_type type)
{
	struct trace_event *event;
	char text[96];

	snprintf(text, sizeof(text), "{\"event\":{\"element\":%u,\"event_type\":%d}}", qp, type);
	calls[nevents] =
		(struct call){ .verb = VERB_get_async_event, .out = args_new(text, strlen(text)) };
	event = add_event(TRACE_RETURN);
	event->call = &calls[event - events];
	return event;
}

static int begin_study(void **state)
{
	(void)state;
	replay = (struct replay){ .nreplicas = NOBJECTS };
	plan = (struct fault_plan){ 0 };
	nevents = at_event = 0;
	has_errors = true;
	return 0;
}

static int end_study(void **state)
{
	(void)state;
	for (size_t i = 0; i < nevents; i++) {
		args_unref(calls[i].args);
		args_unref(calls[i].out);
		calls[i] = (struct call){ 0 };
	}
	map_fini(&plan.forced);
	map_fini(&plan.shown_of);
	map_fini(&plan.sudden);
	free(plan.shown);
	free(plan.erred);
	return 0;
}

FIXTURE(begin_study, end_study);

static void learn_all(void)
{
	assert_int_equal(faults_learn(&replay, &plan), 0);
}

/* Before event 1:@n the queue pair fails, with that event. */
static void expect_sudden(uint64_t n, uint32_t qp, enum ibv_event_type type)
{
	uint64_t packed;

	learn_all();
	assert_true(replay.failing);
	assert_int_equal(plan.sudden.used, 1);
	assert_true(map_get(&plan.sudden, event_key((struct event_id){ 1, n }), &packed));
	assert_int_equal((uint32_t)packed, qp);
	assert_int_equal(packed >> 32, type);
}

static void expect_none_sudden(void)
{
	learn_all();
	assert_int_equal(plan.sudden.used, 0);
}

TEST(a_trace_without_errors_is_not_read)
{
	has_errors = false;
	add_wc(QP, IBV_WC_REM_OP_ERR);
	learn_all();
	assert_int_equal(at_event, 0);
	assert_null(plan.erred);
	assert_false(replay.failing);
}

TEST(a_request_that_failed_fails_again)
{
	uint64_t packed;

	add_wc(QP, IBV_WC_SUCCESS);
	add_wc(QP, IBV_WC_REM_OP_ERR);
	learn_all();
	assert_true(replay.failing);
	assert_true(plan.erred[QP]);
	assert_false(plan.erred[OTHER]);
	assert_int_equal(plan.forced.used, 1);
	assert_true(map_get(&plan.forced, event_key((struct event_id){ 1, 40 }), &packed));
	assert_int_equal(packed, 2ull << 32 | IBV_WC_REM_OP_ERR << 8 | 0x81);
	assert_true(map_get(&plan.shown_of, event_key((struct event_id){ 1, 40 }), &packed));
	assert_int_equal(packed, 1);
	assert_int_equal(plan.nshown, 1);
	assert_int_equal(plan.shown->poll.n, 2);
	assert_int_equal(plan.shown->verb, VERB_poll_cq);
	assert_int_equal(plan.shown->index, 0);
	assert_int_equal(plan.shown->qp, QP);
	assert_int_equal(plan.shown->status, IBV_WC_REM_OP_ERR);
	assert_int_equal(plan.shown->request.n, 40);
}

TEST(a_request_that_is_not_in_the_trace_cannot_fail)
{
	add_wc(QP, IBV_WC_REM_OP_ERR)->request.thread = 0;
	add_wc(77, IBV_WC_REM_OP_ERR)->request.thread = 0; /* of no known queue pair */
	learn_all();
	assert_false(replay.failing);
	assert_true(plan.erred[QP]);
	assert_true(plan.erred[0]);
}

TEST(polls_of_the_library_do_not_count)
{
	add_wc(QP, IBV_WC_REM_OP_ERR);
	events[0].inner = true;
	learn_all();
	assert_false(replay.failing);
}

TEST(a_flush_without_a_cause_is_a_sudden_failure)
{
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	expect_sudden(1, QP, IBV_EVENT_QP_FATAL);
}

TEST(the_event_of_the_queue_pair_names_the_failure)
{
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	add_async(OTHER, IBV_EVENT_QP_REQ_ERR);
	add_async(QP, IBV_EVENT_PATH_MIG);
	add_async(QP, IBV_EVENT_QP_ACCESS_ERR);
	expect_sudden(1, QP, IBV_EVENT_QP_ACCESS_ERR);
}

TEST(a_flush_after_a_failed_request_has_a_cause)
{
	add_wc(QP, IBV_WC_REM_OP_ERR);
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	expect_none_sudden();
}

/* clang-format off */
static const struct cause {
	const char *name;
	enum ibv_event_type type;
	bool is_cause;
} causes[] = {
	{ "event_fatal_is_a_cause",  IBV_EVENT_QP_FATAL,      true },
	{ "event_req_is_a_cause",    IBV_EVENT_QP_REQ_ERR,    true },
	{ "event_access_is_a_cause", IBV_EVENT_QP_ACCESS_ERR, true },
	{ "event_sqd_is_no_cause",   IBV_EVENT_SQ_DRAINED,    false },
};
/* clang-format on */

static void a_flush_after_an_event(void **state)
{
	const struct cause *row = *state;

	begin_study(NULL);
	add_async(QP, row->type);
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	learn_all();
	assert_int_equal(plan.sudden.used, !row->is_cause);
	end_study(NULL);
}
TEST_ROWS(causes, a_flush_after_an_event);

TEST(a_flush_of_another_queue_pair_has_no_cause)
{
	add_async(OTHER, IBV_EVENT_QP_FATAL);
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	expect_sudden(2, QP, IBV_EVENT_QP_FATAL);
}

TEST(the_program_may_be_the_cause)
{
	add_modify(QP, IBV_QPS_ERR);
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	expect_none_sudden();
}

TEST(a_reset_forgets_the_cause)
{
	add_modify(QP, IBV_QPS_ERR);
	add_modify(QP, IBV_QPS_RESET);
	add_modify(QP, IBV_QPS_RTS);
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	expect_sudden(4, QP, IBV_EVENT_QP_FATAL);
}

TEST(a_failed_call_is_no_cause)
{
	add_modify(QP, IBV_QPS_ERR);
	calls[0].failed = true;
	add_async(QP, IBV_EVENT_QP_FATAL)->time = 100; /* of no known queue pair */
	add_async(QP, IBV_EVENT_QP_FATAL);
	calls[2].failed = true;
	add_wc(QP, IBV_WC_WR_FLUSH_ERR);
	expect_sudden(4, QP, IBV_EVENT_QP_FATAL);
}
