/* analyzer/facts/crashed.c: what a process that crashed may have used */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <signal.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

/* End it by @signal; why, or "". */
static const char *find_cause(struct story *s, int signal)
{
	static char because[256];
	const struct fact_list *list;

	because[0] = '\0';
	story_exit(s, STORY_PID, signal);
	story_check(s, NULL);
	list = &s->findings->facts->list;
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].kind == FACT_KILLED && list->all[i].because)
			snprintf(because, sizeof(because), "%s", list->all[i].because);
	story_end(s);
	return because;
}

static void refuse_region(struct story *s)
{
	struct story_call call = story_call(s, 0, VERB_reg_mr, 5, W(&a_pd), W(0x1000), W(64), W(1));

	story_fails(s, &call, 0, EFAULT);
}

static void begin_story(struct story *s)
{
	story_begin(s);
	open_context(s);
	alloc_pd(s);
}

TEST(a_result_that_is_null_is_used)
{
	struct story s;

	begin_story(&s);
	refuse_region(&s);
	assert_string_equal(find_cause(&s, SIGSEGV),
			    "ibv_reg_mr() had returned NULL at 1:6 (EFAULT): possibly the process "
			    "used this result");
}

TEST(a_crash_long_after_a_result_that_is_null)
{
	struct story s;

	begin_story(&s);
	refuse_region(&s);
	for (int i = 0; i < 9; i++)
		create_cq(&s);
	assert_string_equal(find_cause(&s, SIGSEGV), "");
}

TEST(a_region_that_was_registered_after_all)
{
	struct story s;

	begin_story(&s);
	refuse_region(&s);
	reg_mr(&s, &a_mr);
	assert_string_equal(find_cause(&s, SIGSEGV), "");
}

TEST(a_process_that_is_killed_has_used_nothing)
{
	struct story s;

	begin_story(&s);
	refuse_region(&s);
	assert_string_equal(find_cause(&s, SIGKILL), "");
}

static struct rdma_event_channel channel = { .fd = 7 };
static struct rdma_cm_id an_id = { .channel = &channel, .verbs = &a_context };

static void connect_id(struct story *s, bool with_qp)
{
	struct rdma_cm_event event = { .id = &an_id, .event = RDMA_CM_EVENT_ADDR_RESOLVED };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_event *got = &event;
	struct rdma_cm_id *id = &an_id;
	struct story_call call;

	begin_story(s);
	create_cq(s);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&got));
	event.event = RDMA_CM_EVENT_ROUTE_RESOLVED;
	story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&got));
	if (with_qp) {
		call = story_call(s, 0, VERB_rdma_create_qp, 26, W(&an_id), W(&a_pd), W(&attr));
		create_qp(s);
		story_return(s, &call, 0);
	}
	story_do(s, 0, VERB_rdma_connect, 27, 0, W(&an_id), W(0));
}

TEST(a_connection_without_a_queue_pair)
{
	struct story s;

	connect_id(&s, false);
	assert_string_equal(find_cause(&s, SIGSEGV),
			    "possibly it used the qp of cm_id1, which is NULL: no rdma_create_qp() "
			    "had made one");
	connect_id(&s, true);
	assert_string_equal(find_cause(&s, SIGSEGV), "");
}

TEST(a_queue_pair_of_an_identifier_is_destroyed_again)
{
	struct story_call call;
	struct story s;

	connect_id(&s, true);
	call = story_call(&s, 0, VERB_rdma_destroy_qp, 28, W(&an_id));
	destroy_qp(&s, 0);
	story_return(&s, &call, 0);
	story_call(&s, 0, VERB_rdma_destroy_qp, 29, W(&an_id));
	assert_non_null(strstr(find_cause(&s, SIGSEGV), "inside rdma_destroy_qp(), "));
	connect_id(&s, true);
	story_call(&s, 0, VERB_rdma_destroy_qp, 29, W(&an_id));
	assert_string_equal(find_cause(&s, SIGSEGV), "");
}
