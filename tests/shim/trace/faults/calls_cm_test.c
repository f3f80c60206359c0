/*
 * Faults of librdmacm's functions: what the program gets, and what else is called, in this order
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <rdma/rdma_cma.h>

#include "core/base/text.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/faults/calls.h"
#include "shim/trace/faults/plan.h"
#include "tests/test.h"

static struct text out;
static struct planned_fault planned; /* of the next event */
static int error;                    /* of the next call */
static struct ibv_qp qp = { .qp_num = 17 };
static struct rdma_cm_id with_qp = { .qp = &qp }, without;

int __wrap_enter_call(enum verb verb);
int64_t __wrap_enter_fail(enum verb verb, int failed);
struct planned_fault __wrap_plan_cm_event(int event);
void __wrap_plan_note(const struct planned_fault *of, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void __wrap_plan_wait(uint64_t ns);
void __wrap_postponed_release(const struct ibv_qp *of);
void __wrap_original_fail_qp(struct ibv_qp *of);
void __wrap_connected_add_id(struct rdma_cm_id *id, uint32_t qpn);
void __wrap_connected_remove_id(const struct rdma_cm_id *id);

int __wrap_enter_call(enum verb verb)
{
	text_addf(&out, "%s;", verb_infos[verb].name);
	return error;
}

int64_t __wrap_enter_fail(enum verb verb, int failed)
{
	text_addf(&out, " %s fails %d;", verb_infos[verb].name, failed);
	errno = failed;
	return -1;
}

struct planned_fault __wrap_plan_cm_event(int event)
{
	text_addf(&out, " plan %d;", event);
	return planned;
}

void __wrap_plan_note(const struct planned_fault *of, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_addf(&out, " line %u: %s;", of->line, text);
}

void __wrap_plan_wait(uint64_t ns)
{
	text_addf(&out, " wait %d;", (int)ns);
}

void __wrap_postponed_release(const struct ibv_qp *of)
{
	text_addf(&out, " release %u;", of->qp_num);
}

void __wrap_original_fail_qp(struct ibv_qp *of)
{
	text_addf(&out, " fail %u;", of->qp_num);
}

static const char *name_id(const struct rdma_cm_id *id)
{
	return id == &with_qp ? "id of a queue pair" : "id";
}

void __wrap_connected_add_id(struct rdma_cm_id *id, uint32_t qpn)
{
	text_addf(&out, " %s has %u;", name_id(id), qpn);
}

void __wrap_connected_remove_id(const struct rdma_cm_id *id)
{
	text_addf(&out, " %s ends;", name_id(id));
}

/* librdmacm */

static struct rdma_cm_event event;
static int result;

static int get_event(struct rdma_event_channel *channel, struct rdma_cm_event **ret_event)
{
	assert_null(channel);
	text_addf(&out, " get;");
	*ret_event = &event;
	return result;
}

static int connect_id(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	text_addf(&out, " connect %s%s;", name_id(id), param ? " with" : "");
	return result;
}

static int destroy_id(struct rdma_cm_id *id)
{
	text_addf(&out, " destroy %s;", name_id(id));
	return result;
}

static int begin_calls(void **state)
{
	(void)state;
	planned = (struct planned_fault){ .line = 5 };
	error = result = 0;
	original_verbs[VERB_rdma_get_cm_event] = (void *)get_event;
	original_verbs[VERB_rdma_connect] = (void *)connect_id;
	original_verbs[VERB_rdma_accept] = (void *)connect_id;
	original_verbs[VERB_rdma_destroy_id] = (void *)destroy_id;
	return 0;
}

/* All that was called; forgotten then. */
static void expect_calls(const char *wanted)
{
	assert_string_equal(out.at ?: "", wanted);
	text_cut(&out, 0);
}

FIXTURE(begin_calls, NULL);

static int take_event(enum rdma_cm_event_type type, struct rdma_cm_id *id)
{
	int (*call)(struct rdma_event_channel *, struct rdma_cm_event **) =
		calls_cm_find(VERB_rdma_get_cm_event);
	struct rdma_cm_event *got = NULL;
	int ret;

	event = (struct rdma_cm_event){ .event = type,
					.id = id,
					.status = 77,
					.param.conn = { .private_data = "abc",
							.private_data_len = 3 } };
	ret = call(NULL, &got);
	assert_true(error || got == &event);
	return ret;
}

static const struct {
	const char *name;
	enum rdma_cm_event_type to;
	int status;
	bool ends;
} changes[] = {
	{ "an_address_error", RDMA_CM_EVENT_ADDR_ERROR, -ENODEV, false },
	{ "a_route_error", RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, false },
	{ "unreachable", RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, true },
	{ "rejected", RDMA_CM_EVENT_REJECTED, 28, true },
	{ "a_connect_error", RDMA_CM_EVENT_CONNECT_ERROR, -ECONNRESET, true },
	{ "disconnected", RDMA_CM_EVENT_DISCONNECTED, 0, true },
	{ "device_removal", RDMA_CM_EVENT_DEVICE_REMOVAL, 0, false },
	{ "established", RDMA_CM_EVENT_ESTABLISHED, 0, false },
};

static void event_is_changed(void **state)
{
	const typeof(changes[0]) *row = *state;
	struct rdma_cm_id *ids[] = { &with_qp, &without, NULL };
	char wanted[256];

	begin_calls(NULL);
	planned.fault = (struct fault){ .kind = FAULT_BECOMES, .value = row->to };
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take_event(RDMA_CM_EVENT_CONNECT_RESPONSE, ids[i]), 0);
		assert_int_equal(event.event, row->to);
		assert_int_equal(event.status, row->status);
		assert_int_equal(event.param.conn.private_data_len, row->ends ? 0 : 3);
		assert_int_equal(event.param.conn.private_data == NULL, row->ends);
		snprintf(wanted, sizeof(wanted),
			 "rdma_get_cm_event; get; plan 5; line 5: the event %s is %s;%s",
			 fault_cm_name(5), fault_cm_name((int)row->to),
			 row->ends && !i ? " release 17; fail 17;" : "");
		expect_calls(wanted);
	}
}

TEST_ROWS(changes, event_is_changed);

TEST(an_event_is_delayed)
{
	char wanted[256];

	planned.fault = (struct fault){ .kind = FAULT_DELAY, .ns = 3000 };
	assert_int_equal(take_event(RDMA_CM_EVENT_ESTABLISHED, &with_qp), 0);
	assert_int_equal(event.event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(event.status, 77);
	snprintf(wanted, sizeof(wanted),
		 "rdma_get_cm_event; get; plan 9; line 5: the event %s is delayed by 3 us; "
		 "wait 3000;",
		 fault_cm_name(9));
	expect_calls(wanted);
}

TEST(an_event_without_a_fault_is_as_it_came)
{
	planned.fault.kind = FAULT_NONE;
	assert_int_equal(take_event(RDMA_CM_EVENT_ESTABLISHED, &with_qp), 0);
	assert_int_equal(event.status, 77);
	expect_calls("rdma_get_cm_event; get; plan 9;");
}

TEST(no_event_has_no_fault)
{
	result = -1;
	assert_int_equal(take_event(RDMA_CM_EVENT_ESTABLISHED, &with_qp), -1);
	expect_calls("rdma_get_cm_event; get;");
}

TEST(a_call_that_fails_does_nothing)
{
	error = ENOMEM;
	assert_int_equal(take_event(RDMA_CM_EVENT_ESTABLISHED, &with_qp), -1);
	assert_int_equal(errno, ENOMEM);
	expect_calls("rdma_get_cm_event; rdma_get_cm_event fails 12;");
}

static const struct {
	const char *name;
	enum verb verb;
} connects[] = { { "connect_notes_the_id", VERB_rdma_connect },
		 { "accept_notes_the_id", VERB_rdma_accept } };

static void id_is_noted(void **state)
{
	const typeof(connects[0]) *row = *state;
	int (*call)(struct rdma_cm_id *, struct rdma_conn_param *) = calls_cm_find(row->verb);
	struct rdma_conn_param param = { .qp_num = 18 };
	char wanted[128];

	begin_calls(NULL);
	result = 3;
	for (int i = 0; i < 4; i++) {
		struct rdma_cm_id *id = i & 1 ? &with_qp : &without;

		assert_int_equal(call(id, i & 2 ? &param : NULL), 3);
		snprintf(wanted, sizeof(wanted), "%s;%s connect %s%s;", verb_infos[row->verb].name,
			 i & 1   ? " id of a queue pair has 17;"
			 : i & 2 ? " id has 18;"
				 : "",
			 name_id(id), i & 2 ? " with" : "");
		expect_calls(wanted);
	}
}

TEST_ROWS(connects, id_is_noted);

TEST(a_destroyed_id_is_forgotten)
{
	int (*call)(struct rdma_cm_id *) = calls_cm_find(VERB_rdma_destroy_id);

	result = -1;
	assert_int_equal(call(&with_qp), -1);
	expect_calls("rdma_destroy_id; id of a queue pair ends; destroy id of a queue pair;");
}

TEST(other_verbs_have_no_function_here)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		if (verb_infos[verb].via != VIA_CM)
			assert_null(calls_cm_find((enum verb)verb));
	assert_null(calls_cm_find(VERB_COUNT));
}
