/* analyzer/facts over stored traces: failures that are not findings of rules. */
#define STORY_OUTPUTS
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <signal.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

static const struct fact *get_only_fact(const struct story *s, enum fact_kind kind)
{
	const struct fact_list *list = &s->findings->facts->list;
	const struct fact *found = NULL;

	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].kind == kind && list->all[i].count) {
			assert_null(found);
			found = &list->all[i];
		}
	assert_non_null(found);
	assert_int_equal(found->process, found->in[0]);
	return found;
}

static void has_none(struct story *s)
{
	story_check(s, NULL);
	for (int kind = 0; kind < FACT_COUNT; kind++)
		assert_int_equal(facts_count(s->findings->facts, (enum fact_kind)kind), 0);
	assert_false(facts_are_bad(s->findings->facts));
	story_end(s);
}

TEST(a_failed_verb_says_what_and_why)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &a_mr); /* 1:6 */
	dealloc_pd(&s, EBUSY);
	dereg_mr(&s, &a_mr, 0);
	dealloc_pd(&s, 0);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_FAILED);
	assert_string_equal(fact->what, "ibv_dealloc_pd(pd1)");
	assert_int_equal(fact->error, EBUSY);
	assert_string_equal(fact->because, "pd1 is in use by mr1, created by thread 1 at 1:6");
	assert_false(facts_are_bad(s.findings->facts));
	story_end(&s);
}

/* A helper around the verb: all of its calls have one place. */
static void refuse_state(struct story *s, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };

	story_do(s, 0, VERB_modify_qp, 33, EINVAL, W(&a_qp), W(&attr), W(mask));
}

TEST(failures_of_one_place_are_one_if_they_are_alike)
{
	const struct fact_list *list;
	struct story s;

	story_with_qp(&s);
	refuse_state(&s, IBV_QP_STATE | IBV_QP_PORT);
	refuse_state(&s, IBV_QP_STATE | IBV_QP_PKEY_INDEX);
	refuse_state(&s, IBV_QP_STATE | IBV_QP_PORT);
	story_check(&s, NULL);
	list = &s.findings->facts->list;
	assert_int_equal(list->n, 2);
	assert_int_equal(list->all[0].count, 2);
	assert_int_equal(list->all[1].count, 1);
	assert_int_not_equal(list->all[0].alike, list->all[1].alike);
	story_end(&s);
}

static void get_async_event(struct story *s, enum ibv_event_type type)
{
	struct ibv_async_event event = { .event_type = type, .element.port_num = 0 };

	story_do(s, 0, VERB_get_async_event, 12, 0, W(&a_context), W(&event));
}

static const struct event_kind {
	const char *name;
	enum ibv_event_type type;
	bool fatal;
} event_kinds[] = {
	{ "IBV_EVENT_CQ_ERR", IBV_EVENT_CQ_ERR, true },
	{ "IBV_EVENT_QP_FATAL", IBV_EVENT_QP_FATAL, true },
	{ "IBV_EVENT_QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR, true },
	{ "IBV_EVENT_QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR, true },
	{ "IBV_EVENT_PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR, true },
	{ "IBV_EVENT_DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL, true },
	{ "IBV_EVENT_SRQ_ERR", IBV_EVENT_SRQ_ERR, true },
	{ "IBV_EVENT_WQ_FATAL", IBV_EVENT_WQ_FATAL, true },
	{ "IBV_EVENT_COMM_EST", IBV_EVENT_COMM_EST, false },
	{ "IBV_EVENT_SQ_DRAINED", IBV_EVENT_SQ_DRAINED, false },
	{ "IBV_EVENT_PATH_MIG", IBV_EVENT_PATH_MIG, false },
	{ "IBV_EVENT_PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE, false },
	{ "IBV_EVENT_PORT_ERR", IBV_EVENT_PORT_ERR, false },
	{ "IBV_EVENT_QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED, false },
};

/* Each kind once, with the first event of it. */
static void an_event_after_which_nothing_works_is_reported(void **state)
{
	const struct event_kind *row = *state;
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	if (!row->fatal) {
		get_async_event(&s, row->type);
		has_none(&s);
		return;
	}
	for (int i = 0; i < 2; i++)
		get_async_event(&s, row->type);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_FATAL);
	assert_int_equal(strncmp(fact->what, row->name, strlen(row->name)), 0);
	assert_int_equal(fact->count, 2);
	assert_int_equal(fact->event.thread, 1);
	assert_int_equal(fact->event.n, 4);
	assert_int_equal(fact->time, 5000);
	assert_int_equal(fact->thread, 1);
	assert_int_equal(fact->verb, VERB_get_async_event);
	assert_int_equal(fact->error, row->type);
	story_end(&s);
}

TEST_ROWS(event_kinds, an_event_after_which_nothing_works_is_reported);

static struct rdma_event_channel channel = { .fd = 7 };
static struct rdma_cm_id an_id = { .channel = &channel, .verbs = &a_context };

static void get_cm_event(struct story *s, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event event = { .id = &an_id, .event = type, .status = status };
	struct rdma_cm_event *got = &event;
	struct rdma_cm_id *id = &an_id;

	story_begin(s);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&got));
}

static const struct cm_failure {
	const char *name;
	enum rdma_cm_event_type type;
	int status;
	const char *what;
	int error;
	const char *because;
} cm_failures[] = {
	{ "no route", RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH,
	  "RDMA_CM_EVENT_ADDR_ERROR of rdma_resolve_addr(cm_id1)", ENETUNREACH, NULL },
	{ "no listener", RDMA_CM_EVENT_REJECTED, 8,
	  "RDMA_CM_EVENT_REJECTED of rdma_connect(cm_id1)", ECONNREFUSED,
	  "no program listens at this address and port (status 8, invalid service ID)" },
	{ "rejected over iWARP", RDMA_CM_EVENT_REJECTED, -ECONNREFUSED,
	  "RDMA_CM_EVENT_REJECTED of rdma_connect(cm_id1)", ECONNREFUSED, NULL },
	{ "no answer", RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
	  "RDMA_CM_EVENT_UNREACHABLE of rdma_connect(cm_id1)", ETIMEDOUT, NULL },
	{ "no listener for datagrams", RDMA_CM_EVENT_UNREACHABLE, 1,
	  "RDMA_CM_EVENT_UNREACHABLE of rdma_connect(cm_id1)", ECONNREFUSED,
	  "no program listens at this address and port (status 1, service ID not supported)" },
	{ "datagrams refused", RDMA_CM_EVENT_UNREACHABLE, 2,
	  "RDMA_CM_EVENT_UNREACHABLE of rdma_connect(cm_id1)", ECONNREFUSED,
	  "the other program called rdma_reject(), destroyed the identifier of the request, or "
	  "ended; or its backlog was full (status 2)" },
	{ "datagrams of no queue pair", RDMA_CM_EVENT_UNREACHABLE, 3,
	  "RDMA_CM_EVENT_UNREACHABLE of rdma_connect(cm_id1)", ECONNREFUSED, NULL },
};

/* An operation of librdmacm that began without an error may end with an event that reports one. */
static void a_connection_that_failed_is_reported(void **state)
{
	const struct cm_failure *row = *state;
	const struct fact *fact;
	struct story s;

	get_cm_event(&s, row->type, row->status);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_FAILED);
	assert_non_null(strstr(fact->what, row->what));
	assert_int_equal(fact->error, row->error);
	assert_true(row->because ? fact->because && !strcmp(fact->because, row->because)
				 : !fact->because);
	assert_false(facts_are_bad(s.findings->facts));
	story_end(&s);
}

TEST_ROWS(cm_failures, a_connection_that_failed_is_reported);

TEST(a_connection_that_was_made_is_no_failure)
{
	struct story s;

	get_cm_event(&s, RDMA_CM_EVENT_ESTABLISHED, 0);
	has_none(&s);
}

/* Failures that are expected: the table of core/wire/probe.c. */
TEST(a_question_that_a_device_cannot_answer_is_no_failure)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_do(&s, 0, VERB_query_device, 30, EOPNOTSUPP, W(&a_context), W(0));
	has_none(&s);
}

static void ask_for_inline(struct story *s, uint32_t bytes, bool granted)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .cap = { .max_inline_data = bytes },
					 .qp_type = IBV_QPT_RC };

	story_do(s, 0, VERB_create_qp, 40, W(granted ? &a_qp : NULL), W(&a_pd), W(&attr));
	if (granted)
		story_do(s, 0, VERB_destroy_qp, 41, 0, W(&a_qp));
}

static void begin_search(struct story *s)
{
	story_with_cq(s);
}

TEST(a_search_for_the_most_inline_data_is_no_failure)
{
	static const uint32_t refused[] = { 512, 384, 320, 288 };
	struct story s;

	begin_search(&s);
	ask_for_inline(&s, 256, true);
	for (int i = 0; i < 4; i++)
		ask_for_inline(&s, refused[i], false);
	has_none(&s);
}

TEST(less_inline_data_after_a_refusal_is_no_failure)
{
	struct story s;

	begin_search(&s);
	ask_for_inline(&s, 512, false);
	ask_for_inline(&s, 64, true);
	has_none(&s);
}

TEST(a_refusal_that_is_the_end_is_a_failure)
{
	struct story s;

	begin_search(&s);
	ask_for_inline(&s, 512, false);
	story_check(&s, NULL);
	assert_int_equal(get_only_fact(&s, FACT_FAILED)->count, 1);
	story_end(&s);
}

/* The program asked for fields that the device lacks, or, if @again, used fewer. */
static void ask_for_fields(struct story *s, bool again)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16,
					    .wc_flags = IBV_WC_STANDARD_FLAGS |
							IBV_WC_EX_WITH_CVLAN |
							IBV_WC_EX_WITH_FLOW_TAG };
	struct story_call call = story_call(s, 0, VERB_create_cq_ex, 50, W(&a_context), W(&attr));

	story_fails(s, &call, 0, EOPNOTSUPP);
	if (!again)
		return;
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	story_do(s, 0, VERB_create_cq_ex, 51, W(&a_cq), W(&a_context), W(&attr));
	destroy_cq(s, 0);
}

TEST(a_failure_that_is_expected_may_be_the_end)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	ask_for_fields(&s, false);
	close_context(&s);
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_int_equal(facts_count(s.findings->facts, FACT_FAILED), 0);
	fact = get_only_fact(&s, FACT_EXITED);
	assert_string_equal(fact->because,
			    "its last failed verb: ibv_create_cq_ex(context1) = EOPNOTSUPP at "
			    "1:4, wc_flags has IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG "
			    "beyond IBV_WC_STANDARD_FLAGS; many programs expect this failure, "
			    "this one may not: see its output");
	story_end(&s);
}

/* ibv_query_ece(), as rdma_connect() calls it */
TEST(what_a_connection_does_without_is_not_its_end)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_do(&s, 0, VERB_query_ece, 6, EOPNOTSUPP, W(&a_qp), W(0));
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_string_equal(get_only_fact(&s, FACT_EXITED)->because,
			    "none of its recorded verbs failed: see its output");
	story_end(&s);
}

TEST(a_failure_that_is_expected_is_none)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	ask_for_fields(&s, true);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	has_none(&s);
}

/* A refusal that was taken back for a search is not reported elsewhere. */
TEST(a_search_that_was_the_end)
{
	static const uint32_t refused[] = { 512, 384, 320 };
	const struct fact *fact;
	struct story s;

	begin_search(&s);
	for (int i = 0; i < 3; i++)
		ask_for_inline(&s, refused[i], false);
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_EXITED);
	assert_non_null(strstr(fact->because, "its last failed verb: ibv_create_qp(pd1) = "));
	story_end(&s);
}

static void live_for_a_second(struct story *s)
{
	s->now += 1000000000;
}

TEST(a_call_that_never_returned_is_reported_with_its_time)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	story_call(&s, 0, VERB_dealloc_pd, 8, W(&a_pd));
	live_for_a_second(&s);
	story_exit(&s, STORY_PID, SIGKILL);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_HUNG);
	assert_string_equal(fact->what, "ibv_dealloc_pd(pd1)");
	assert_int_equal(fact->lasted, 1000001000);
	assert_true(facts_are_bad(s.findings->facts));
	story_end(&s);
}

TEST(a_call_that_had_just_begun_is_not_hung)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_call(&s, 0, VERB_close_device, 8, W(&a_context));
	story_exit(&s, STORY_PID, 0);
	has_none(&s);
}

TEST(to_wait_for_an_event_at_the_end_is_as_it_should_be)
{
	struct story s;

	story_begin(&s);
	story_call(&s, 0, VERB_get_async_event, 8, W(&a_context), W(0));
	live_for_a_second(&s);
	story_exit(&s, STORY_PID, 0);
	has_none(&s);
}

/* A thread waits for an event of the channel, which another thread destroys if @destroyed. */
static void wait_for_an_event(struct story *s, bool destroyed)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;
	int other;

	story_begin(s);
	other = story_thread(s, STORY_PID, 0, 0);
	open_context(s);
	story_do(s, 0, VERB_create_comp_channel, 3, W(&a_channel), W(&a_context));
	story_call(s, other, VERB_get_cq_event, 8, W(&a_channel), W(&cq), W(&context));
	live_for_a_second(s);
	if (destroyed)
		story_do(s, 0, VERB_destroy_comp_channel, 4, 0, W(&a_channel));
}

TEST(a_wait_for_an_event_of_a_channel_that_was_destroyed_is_hung)
{
	const struct fact *fact;
	struct story s;

	wait_for_an_event(&s, true);
	live_for_a_second(&s);
	story_exit(&s, STORY_PID, SIGALRM);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_HUNG);
	assert_string_equal(fact->what, "ibv_get_cq_event(comp_channel1)");
	story_end(&s);
}

TEST(a_wait_for_an_event_is_not_hung_if_its_channel_lives_or_the_process_ends_with_it)
{
	struct story s;

	for (int i = 0; i < 2; i++) {
		wait_for_an_event(&s, i);
		if (!i)
			live_for_a_second(&s);
		story_exit(&s, STORY_PID, 0);
		has_none(&s);
	}
}

TEST(with_events_lost_nothing_is_hung)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_call(&s, 0, VERB_close_device, 8, W(&a_context));
	live_for_a_second(&s);
	s.threads[0].head.dropped = 1;
	s.threads[0].head.drop_first = s.threads[0].head.drop_last = s.now;
	story_exit(&s, STORY_PID, 0);
	has_none(&s);
}

TEST(a_killed_process_is_reported_with_its_objects)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	story_exit(&s, STORY_PID, SIGKILL);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_KILLED);
	assert_int_equal(fact->error, SIGKILL);
	assert_int_equal(fact->live, 2);
	assert_int_equal(fact->event.n, 4);
	assert_int_equal(fact->verb, VERB_alloc_pd);
	assert_true(facts_are_bad(s.findings->facts));
	story_end(&s);
}

TEST(a_process_may_be_killed_by_an_unknown_signal)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_exit(&s, STORY_PID, -1);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_KILLED);
	assert_int_equal(fact->error, 0);
	assert_int_equal(fact->live, 1);
	story_end(&s);
}

TEST(a_killed_process_that_left_nothing_is_no_matter)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	close_context(&s);
	story_exit(&s, STORY_PID, SIGKILL);
	has_none(&s);
}

TEST(muted_facts_are_counted_and_not_bad)
{
	struct check_options options = { .mute_fact = { [FACT_KILLED] = true } };
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_exit(&s, STORY_PID, SIGKILL);
	story_check(&s, &options);
	assert_int_equal(facts_count(s.findings->facts, FACT_KILLED), 1);
	assert_false(facts_are_bad(s.findings->facts));
	story_end(&s);
}

TEST(the_same_in_several_processes_is_one_fact)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	for (int i = 0; i < 3; i++) {
		int t = i ? story_thread(&s, STORY_PID + 10 * i, 0, 0) : 0;

		story_do(&s, t, VERB_open_device, 0, W(NULL), W(0x1000));
	}
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_FAILED);
	assert_int_equal(fact->count, 3);
	assert_int_equal(fact->nin, 3);
	story_end(&s);
}

TEST(facts_have_names)
{
	assert_int_equal(fact_find("hung-call"), FACT_HUNG);
	assert_int_equal(fact_find("LIFE-001"), -1);
}

/* The other end did not confirm the connection. */
TEST(an_accepted_connection_that_failed_is_reported)
{
	struct rdma_cm_event event = { .id = &an_id,
				       .event = RDMA_CM_EVENT_UNREACHABLE,
				       .status = -ETIMEDOUT };
	struct rdma_cm_event *got = &event;
	struct rdma_cm_id *id = &an_id;
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(&s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(&s, 0, VERB_rdma_accept, 22, 0, W(&an_id), W(0));
	story_do(&s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&got));
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_FAILED);
	assert_string_equal(fact->what, "RDMA_CM_EVENT_UNREACHABLE of rdma_accept(cm_id1)");
	assert_int_equal(fact->verb, VERB_rdma_accept);
	story_end(&s);
}

/* A call that never returns, in a process that crashes. @resolving: 1 begun, 2 done, -1 bound. */
static struct crash {
	const char *name;
	int resolving;
	bool creates_qp, has_context;
	const char *because;
} crashes[] = {
	{ "never resolved", 0, false, false,
	  "inside ibv_alloc_pd(), 1:6, which had not returned: its context was NULL; cm_id1, 1:4, "
	  "has no device before RDMA_CM_EVENT_ADDR_RESOLVED was retrieved by rdma_get_cm_event(): "
	  "its verbs, pd and qp are NULL (rdma_resolve_addr() was not called)" },
	{ "the event was not waited for", 1, true, false,
	  "inside rdma_create_qp(), 1:8, which had not returned; cm_id1, 1:4, has no device before "
	  "RDMA_CM_EVENT_ADDR_RESOLVED was retrieved by rdma_get_cm_event(): its verbs, pd and qp "
	  "are NULL (rdma_resolve_addr() had only begun)" },
	{ "resolved", 2, true, false, NULL },
	{ "another context", 1, false, true, NULL },
	{ "bound", -1, false, false,
	  "inside ibv_alloc_pd(), 1:8, which had not returned: its context was NULL" },
};

static void resolve_address(struct story *s, int how)
{
	struct rdma_cm_event event = { .id = &an_id, .event = RDMA_CM_EVENT_ADDR_RESOLVED };
	struct rdma_cm_event *got = &event;

	if (how < 0)
		story_do(s, 0, VERB_rdma_bind_addr, 22, 0, W(&an_id), W(0));
	if (how > 0)
		story_do(s, 0, VERB_rdma_resolve_addr, 22, 0, W(&an_id), W(0), W(0), W(2000));
	if (how > 1)
		story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&got));
}

static void the_call_of_a_crash_is_named(void **state)
{
	const struct crash *row = *state;
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_id *id = &an_id;
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(&s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	resolve_address(&s, row->resolving);
	if (row->creates_qp)
		story_call(&s, 0, VERB_rdma_create_qp, 26, W(&an_id), W(0), W(&attr));
	else
		story_call(&s, 0, VERB_alloc_pd, 26, row->has_context ? W(&a_context) : 0);
	story_exit(&s, STORY_PID, SIGSEGV);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_KILLED);
	if (row->because)
		assert_string_equal(fact->because, row->because);
	else
		assert_null(fact->because);
	story_end(&s);
}

TEST_ROWS(crashes, the_call_of_a_crash_is_named);

/* The last verb of a process that crashes */
static const char *crash_after(bool destroys, int signal)
{
	static char because[256];
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	create_cq(&s);
	if (destroys)
		destroy_cq(&s, 0);
	story_exit(&s, STORY_PID, signal);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_KILLED);
	assert_int_equal(fact->count, 1);
	snprintf(because, sizeof(because), "%s", fact->because ?: "");
	story_end(&s);
	return because;
}

TEST(a_destroyed_object_may_have_been_used)
{
	assert_string_equal(crash_after(true, SIGSEGV),
			    "possibly the process used the cq that it had destroyed: such a post "
			    "or poll crashes before the recorder sees the call; the software "
			    "device records it");
	assert_string_equal(crash_after(false, SIGSEGV), "");
	assert_string_equal(crash_after(true, SIGKILL), "");
}

TEST(a_killed_process_did_not_crash_in_its_call)
{
	const struct fact *fact;
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_call(&s, 0, VERB_alloc_pd, 26, W(NULL));
	story_exit(&s, STORY_PID, SIGKILL);
	story_check(&s, NULL);
	fact = get_only_fact(&s, FACT_KILLED);
	assert_null(fact->because);
	story_end(&s);
}

/* A listener on port @bound, and a connection to 7471 that is refused. */
static const char *refuse_port(struct story *s, uint16_t bound)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(bound) };
	struct rdma_cm_id listener = { .channel = &channel }, *id = &listener;
	struct rdma_cm_event event = { .id = &an_id, .event = RDMA_CM_EVENT_REJECTED, .status = 8 };
	struct rdma_cm_event *got = &event;

	story_begin(s);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(s, 0, VERB_rdma_bind_addr, 22, 0, W(id), W(&in));
	story_do(s, 0, VERB_rdma_listen, 23, 0, W(id), W(1));
	id = &an_id;
	an_id.route.addr.dst_sin = in;
	an_id.route.addr.dst_sin.sin_port = htons(7471);
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&got));
	memset(&an_id.route, 0, sizeof(an_id.route));
	story_check(s, NULL);
	return get_only_fact(s, FACT_FAILED)->because;
}

TEST(a_port_in_the_other_byte_order)
{
	struct story s;

	assert_non_null(strstr(refuse_port(&s, 0x2f1d),
			       "; but cm_id1 of process 1 (app) listens on port 12061, which is "
			       "7471 in the other byte order: is htons() missing?"));
	story_end(&s);
	assert_null(strstr(refuse_port(&s, 7472), "listens on port"));
	story_end(&s);
}

/* The second acknowledgement of an event whose memory the first one has freed. */
TEST(an_event_that_was_acknowledged_before)
{
	struct rdma_cm_id *freed = (struct rdma_cm_id *)(uintptr_t)0x5a5a;
	struct rdma_cm_event event = { .id = freed, .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct story s;

	story_begin(&s);
	story_call(&s, 0, VERB_rdma_ack_cm_event, 26, W(&event));
	story_exit(&s, STORY_PID, SIGABRT);
	story_check(&s, NULL);
	assert_string_equal(get_only_fact(&s, FACT_KILLED)->because,
			    "inside rdma_ack_cm_event(), 1:2, which had not returned: its event is "
			    "of no identifier of the process: possibly it was acknowledged before, "
			    "which frees it");
	story_end(&s);
}
