/* The rules of analyzer/rules/state.c over stored traces. */
#include <errno.h>
#include <signal.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
		 IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT,
};

static const struct event_sge a_sge = { 0x1000, 64, 0x10 };

static void modify_in(struct story *s, int thread, int state, int mask, uint64_t ret)
{
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)state,
				    .port_num = 1,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .min_rnr_timer = 12 };

	story_do(s, thread, VERB_modify_qp, 30, ret, W(&a_qp), W(&attr), W(mask));
}

static void modify_to(struct story *s, int state, int mask, uint64_t ret)
{
	modify_in(s, 0, state, mask, ret);
}

static void begin_story(struct story *s)
{
	a_qp.state = IBV_QPS_RESET;
	story_with_qp(s);
}

static void connect_qp(struct story *s)
{
	modify_to(s, IBV_QPS_INIT, TO_INIT, 0);
	modify_to(s, IBV_QPS_RTR, TO_RTR, 0);
	modify_to(s, IBV_QPS_RTS, TO_RTS, 0);
}

static void post_one(struct story *s, int thread, enum verb verb, int opcode)
{
	story_post(s, thread, verb, &a_qp, 7, opcode, a_sge);
}

static void post_send(struct story *s)
{
	post_one(s, 0, VERB_post_send, IBV_WR_SEND);
}

static void post_recv(struct story *s)
{
	post_one(s, 0, VERB_post_recv, 0);
}

/* The queue pair of an iWARP device, which librdmacm has moved to INIT, as it does. */
static void begin_iwarp(struct story *s)
{
	static struct ibv_device device = { .name = "siw0",
					    .dev_name = "uverbs0",
					    .node_type = IBV_NODE_RNIC,
					    .transport_type = IBV_TRANSPORT_IWARP };
	static struct ibv_device *list[] = { &device, NULL };
	static int one = 1;

	story_begin(s);
	a_qp.state = IBV_QPS_RESET;
	a_context.device = &device;
	story_do(s, 0, VERB_get_device_list, 50, W(list), W(&one));
	story_do(s, 0, VERB_open_device, 1, W(&a_context), W(&device));
	alloc_pd(s);
	create_cq(s);
	create_qp(s);
	a_context.device = NULL;
	modify_to(s, IBV_QPS_INIT, TO_INIT, 0);
}

TEST(librdmacm_moves_a_queue_pair_of_iwarp_unseen)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct story s;

	begin_iwarp(&s);
	story_do(&s, 0, VERB_query_qp, 51, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE), W(&init));
	post_recv(&s);
	post_send(&s);
	story_finds_nothing(&s);
}

TEST(what_the_program_does_to_it_is_seen)
{
	struct story s;

	begin_iwarp(&s);
	modify_to(&s, IBV_QPS_RESET, IBV_QP_STATE, 0);
	post_recv(&s);
	story_check(&s, NULL);
	story_only(&s, RULE_STATE_002);
	story_end(&s);
}

TEST(a_missing_attribute_is_named)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	modify_to(&s, IBV_QPS_INIT, TO_INIT, 0); /* 1:10 */
	modify_to(&s, IBV_QPS_RTR, TO_RTR & ~IBV_QP_AV, EINVAL);
	story_check(&s, NULL);
	f = story_only(&s, RULE_STATE_001);
	assert_string_equal(f->where, "ibv_modify_qp(): attr_mask");
	assert_int_equal(f->event.n, 12);
	assert_non_null(strstr(f->says, "was in INIT (since 1:10); ibv_modify_qp() to RTR returned "
					"22 (Invalid argument): lacks IBV_QP_AV."));
	story_end(&s);
}

TEST(a_transition_that_is_none_is_named)
{
	struct story s;

	begin_story(&s);
	modify_to(&s, IBV_QPS_RTR, TO_RTR, EINVAL);
	story_tells(&s, RULE_STATE_001, "there is no transition RESET -> RTR");
}

/* The values may have been wrong, or the device may have changed its state meanwhile. */
TEST(a_refusal_that_the_table_does_not_explain_is_not_judged)
{
	struct story s;

	begin_story(&s);
	modify_to(&s, IBV_QPS_INIT, TO_INIT, EINVAL);
	modify_to(&s, IBV_QPS_INIT, TO_INIT, 0);
	modify_to(&s, IBV_QPS_RTR, TO_RTR, ETIMEDOUT);
	modify_to(&s, IBV_QPS_RTR, IBV_QP_STATE, ENOMEM);
	story_finds_nothing(&s);
}

TEST(what_a_device_allows_is_not_judged)
{
	struct story s;

	begin_story(&s);
	modify_to(&s, IBV_QPS_RTS, IBV_QP_STATE, 0);
	post_send(&s);
	story_finds_nothing(&s);
}

TEST(a_queue_older_than_the_trace_is_not_judged)
{
	struct story s;

	story_begin(&s);
	modify_to(&s, IBV_QPS_RTR, IBV_QP_STATE, EINVAL);
	post_send(&s);
	story_finds_nothing(&s);
}

TEST(a_send_before_rts_is_found)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	modify_to(&s, IBV_QPS_INIT, TO_INIT, 0);
	modify_to(&s, IBV_QPS_RTR, TO_RTR, 0); /* 1:12 */
	post_recv(&s);
	post_send(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_STATE_002);
	assert_string_equal(f->where, "ibv_post_send(): qp");
	assert_non_null(strstr(f->says, "was in RTR (since 1:12) when a send was posted"));
	story_end(&s);
}

TEST(a_receive_in_reset_is_found)
{
	struct story s;

	begin_story(&s);
	post_recv(&s);
	story_tells(&s, RULE_STATE_002, "was in RESET (made at 1:8)");
}

TEST(a_receive_beside_the_srq_is_found)
{
	struct ibv_srq srq = { .context = &a_context, .pd = &a_pd };
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .srq = &srq, .qp_type = IBV_QPT_RC
	};
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8 } };
	struct ibv_qp qp = a_qp;
	struct story s;

	qp.srq = &srq;
	begin_story(&s);
	story_do(&s, 0, VERB_create_srq, 31, W(&srq), W(&a_pd), W(&of_srq));
	story_do(&s, 0, VERB_create_qp, 32, W(&qp), W(&a_pd), W(&attr));
	story_do(&s, 0, VERB_modify_qp, 33, 0, W(&qp),
		 W(&(struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT }), W(TO_INIT));
	story_post(&s, 0, VERB_post_recv, &qp, 7, 0, a_sge);
	story_tells(&s, RULE_STATE_002, "uses a shared receive queue");
}

TEST(a_connected_queue_is_posted_to)
{
	struct story s;

	begin_story(&s);
	modify_to(&s, IBV_QPS_INIT, TO_INIT, 0);
	post_recv(&s);
	modify_to(&s, IBV_QPS_RTR, TO_RTR, 0);
	modify_to(&s, IBV_QPS_RTS, TO_RTS, 0);
	post_send(&s);
	post_recv(&s);
	story_finds_nothing(&s);
}

/* Another thread's modify has begun: the order of the post and the modify is not known. */
TEST(a_post_beside_a_modify_is_not_judged)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7
	};
	struct story_call rts;
	struct story s;
	int other;

	begin_story(&s);
	other = story_thread(&s, STORY_PID, 0, 0);
	modify_to(&s, IBV_QPS_INIT, TO_INIT, 0);
	modify_to(&s, IBV_QPS_RTR, TO_RTR, 0);
	rts = story_call(&s, other, VERB_modify_qp, 31, W(&a_qp), W(&attr), W(TO_RTS));
	post_send(&s);
	story_return(&s, &rts, 0);
	post_send(&s);
	story_finds_nothing(&s);
}

/* As in librdmacm, which connects with its own verbs. */
TEST(inner_transitions_count)
{
	struct story s;

	begin_story(&s);
	s.inner = true;
	connect_qp(&s);
	s.inner = false;
	post_send(&s);
	story_finds_nothing(&s);
}

TEST(posts_after_err_are_found_once)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0); /* 1:16 */
	post_send(&s); /* the completion of this send shows that the queue is drained */
	post_recv(&s);
	post_recv(&s);
	post_recv(&s);
	story_exit(&s, STORY_PID, SIGKILL);
	story_check(&s, NULL);
	f = story_only(&s, RULE_STATE_003);
	assert_int_equal(f->event.n, 20);
	assert_non_null(strstr(f->says, "had entered ERR by ibv_modify_qp() at 1:16"));
	story_end(&s);
}

static void flush_receives(struct story *s, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++)
		story_post(s, 0, VERB_post_recv, &a_qp, i, 0, a_sge);
	for (uint64_t i = from; i < from + n; i++)
		story_poll(s, 0, &a_cq, i, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
}

TEST(requests_whose_flush_is_awaited_may_be_posted)
{
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0);
	flush_receives(&s, 10, 3);
	destroy_qp(&s, 0);
	story_finds_nothing(&s);
}

TEST(a_post_for_each_flush_never_ends)
{
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0);
	for (uint64_t i = 0; i < 3; i++)
		flush_receives(&s, 10 + i, 1);
	destroy_qp(&s, 0);
	story_tells(&s, RULE_STATE_003, "a receive was posted to it");
}

TEST(a_reset_ends_the_flushes)
{
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0);
	post_recv(&s);
	post_recv(&s);
	modify_to(&s, IBV_QPS_RESET, IBV_QP_STATE, 0);
	destroy_qp(&s, 0);
	story_tells(&s, RULE_STATE_003, "a receive was posted to it");
}

TEST(one_request_drains_each_queue)
{
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0);
	post_send(&s);
	post_recv(&s);
	story_finds_nothing(&s);
}

TEST(a_queue_that_was_reset_is_new)
{
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0);
	modify_to(&s, IBV_QPS_RESET, IBV_QP_STATE, 0);
	connect_qp(&s);
	for (int i = 0; i < 4; i++)
		post_send(&s);
	story_finds_nothing(&s);
}

static const struct of_type {
	const char *name;
	enum ibv_qp_type type;
	enum ibv_wr_opcode opcode;
	bool suits;
} of_types[] = {
	{ "rc_writes", IBV_QPT_RC, IBV_WR_RDMA_WRITE, true },
	{ "rc_reads", IBV_QPT_RC, IBV_WR_RDMA_READ, true },
	{ "rc_has_no_segments", IBV_QPT_RC, IBV_WR_TSO, false },
	{ "uc_writes", IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM, true },
	{ "uc_does_not_read", IBV_QPT_UC, IBV_WR_RDMA_READ, false },
	{ "uc_has_no_atomics", IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD, false },
	{ "ud_sends", IBV_QPT_UD, IBV_WR_SEND_WITH_IMM, true },
	{ "ud_does_not_write", IBV_QPT_UD, IBV_WR_RDMA_WRITE, false },
	{ "raw_sends", IBV_QPT_RAW_PACKET, IBV_WR_SEND, true },
	{ "raw_does_not_read", IBV_QPT_RAW_PACKET, IBV_WR_RDMA_READ, false },
	{ "xrc_reads", IBV_QPT_XRC_SEND, IBV_WR_RDMA_READ, true },
	{ "driver_may_do_anything", IBV_QPT_DRIVER, IBV_WR_RDMA_READ, true },
};

static void opcode_suits(void **state)
{
	const struct of_type *row = *state;
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq, .recv_cq = &a_cq, .qp_type = row->type };
	struct ibv_qp qp = a_qp;
	struct story s;

	qp.qp_type = row->type;
	begin_story(&s);
	story_do(&s, 0, VERB_create_qp, 32, W(&qp), W(&a_pd), W(&attr));
	for (int to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++)
		story_do(&s, 0, VERB_modify_qp, 33, 0, W(&qp),
			 W(&(struct ibv_qp_attr){ .qp_state = (enum ibv_qp_state)to }),
			 W(IBV_QP_STATE));
	story_post(&s, 0, VERB_post_send, &qp, 7, row->opcode, a_sge);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), !row->suits);
	if (!row->suits)
		assert_string_equal(story_only(&s, RULE_STATE_004)->where,
				    "ibv_post_send(): wr[0].opcode");
	story_end(&s);
}

TEST_ROWS(of_types, opcode_suits);

static void post_extended(enum verb verb, bool lacks, const char *says)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &a_cq,
		.recv_cq = &a_cq,
		.qp_type = IBV_QPT_RC,
		.pd = &a_pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = lacks ? IBV_QP_EX_WITH_SEND
					: IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp qp = a_qp;
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_create_qp_ex, 32, W(&qp), W(&a_context), W(&attr));
	for (int to = IBV_QPS_INIT; to <= IBV_QPS_RTS; to++)
		story_do(&s, 0, VERB_modify_qp, 33, 0, W(&qp),
			 W(&(struct ibv_qp_attr){ .qp_state = (enum ibv_qp_state)to }),
			 W(IBV_QP_STATE));
	story_post(&s, 0, verb, &qp, 7, IBV_WR_RDMA_WRITE, a_sge);
	story_post(&s, 0, VERB_post_send, &qp, 8, IBV_WR_RDMA_WRITE, a_sge);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), lacks);
	if (lacks)
		assert_non_null(strstr(story_only(&s, RULE_STATE_004)->says, says));
	story_end(&s);
}

TEST(an_operation_that_was_not_asked_for_is_found)
{
	post_extended(VERB_wr_complete, true,
		      "send_ops_flags 0x4, which lack IBV_WR_RDMA_WRITE, but it was posted");
}

TEST(an_operation_that_was_not_asked_for_is_found_where_its_builder_is_not_there)
{
	post_extended(VERB_wr_abort, true,
		      "IBV_WR_RDMA_WRITE, but it was built; nothing of its batch was posted");
}

TEST(an_operation_that_was_asked_for_is_posted)
{
	post_extended(VERB_wr_complete, false, NULL);
	post_extended(VERB_wr_abort, false, NULL);
}

/* A queue pair of ibv_wr_send() alone, and its process is killed by @signal. */
static uint64_t crash_extended(bool strict, bool posts, int signal)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &a_cq,
		.recv_cq = &a_cq,
		.qp_type = IBV_QPT_RC,
		.pd = &a_pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct story s;
	uint64_t n;

	a_qp.state = IBV_QPS_RESET;
	story_begin_how(&s, strict);
	open_context(&s);
	alloc_pd(&s);
	create_cq(&s);
	story_do(&s, 0, VERB_create_qp_ex, 32, W(&a_qp), W(&a_context), W(&attr));
	connect_qp(&s);
	if (posts)
		post_one(&s, 0, VERB_wr_complete, IBV_WR_SEND);
	story_exit(&s, STORY_PID, signal);
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_STATE_004];
	if (n) {
		assert_non_null(strstr(story_only(&s, RULE_STATE_004)->says,
				       "created with send_ops_flags 0x4, and nothing was posted"));
		assert_string_equal(story_only(&s, RULE_STATE_004)->settles, "record --strict");
	}
	story_end(&s);
	return n;
}

TEST(a_builder_that_is_not_there_may_have_crashed)
{
	assert_int_equal(crash_extended(false, false, 11), 1);
	assert_int_equal(crash_extended(true, false, 11), 0); /* it would be in the trace */
	assert_int_equal(crash_extended(false, true, 11), 0);
	assert_int_equal(crash_extended(false, false, 9), 0);
}

/* A story whose queue pair has failed: thread @by polls the error of its first send. */
static void begin_failed(struct story *s, int by, int status)
{
	begin_story(s);
	while (s->nthreads <= by)
		story_thread(s, STORY_PID, 0, 0);
	connect_qp(s);
	post_send(s);
	story_poll(s, by, &a_cq, 7, status, a_qp.qp_num);
}

TEST(a_post_after_an_error_completion_is_found)
{
	struct story s;

	begin_failed(&s, 0, IBV_WC_RETRY_EXC_ERR);
	post_send(&s);
	story_tells(&s, RULE_COMPL_007, "by IBV_WC_RETRY_EXC_ERR, polled at");
}

static void post_mark(struct story *s, uint64_t wr_id)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);

	event->object = W(&a_qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = wr_id,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .flags = IBV_SEND_SIGNALED };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr)) / 8);
}

/* The flush of the mark shows that all requests before it were flushed. */
TEST(a_mark_without_data_may_follow_an_error)
{
	struct story s;

	begin_failed(&s, 0, IBV_WC_RETRY_EXC_ERR);
	post_mark(&s, 8);
	story_finds_nothing(&s);
	begin_failed(&s, 0, IBV_WC_RETRY_EXC_ERR);
	for (uint64_t i = 8; i < 10; i++)
		post_mark(&s, i);
	story_tells(&s, RULE_COMPL_007, "by IBV_WC_RETRY_EXC_ERR, polled at");
}

TEST(another_thread_has_time_to_learn_of_an_error)
{
	struct story s;

	begin_failed(&s, 1, IBV_WC_RETRY_EXC_ERR);
	post_send(&s);
	s.now += 500000000;
	post_send(&s);
	story_finds_nothing(&s);
}

TEST(another_thread_goes_on_for_ever)
{
	struct story s;

	begin_failed(&s, 1, IBV_WC_RETRY_EXC_ERR);
	s.now += 2000000000;
	post_send(&s);
	story_check(&s, NULL);
	story_only(&s, RULE_COMPL_007);
	story_end(&s);
}

/* Thread 1 polls the error, and flushes; thread 0 posts @posts times, each @step later. */
static uint64_t count_late_posts(int posts, uint64_t step, bool flushes)
{
	struct story s;
	uint64_t hazards;

	begin_failed(&s, 1, IBV_WC_RETRY_EXC_ERR);
	for (int i = 0; i < posts; i++) {
		s.now += step;
		post_send(&s);
		if (flushes)
			story_poll(&s, 1, &a_cq, 7, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
	}
	story_check(&s, NULL);
	hazards = s.findings->hazards[RULE_COMPL_007];
	if (hazards)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_007)->says,
				       "But thread 1 has posted 3 times more than 10 ms after the "
				       "error, the last time 60.0 ms after it."));
	story_end(&s);
	return hazards;
}

TEST(another_thread_goes_on_for_a_while)
{
	assert_int_equal(count_late_posts(5, 20000000, true), 1); /* reported once */
	assert_int_equal(count_late_posts(2, 20000000, true), 0);
	assert_int_equal(count_late_posts(5, 1000000, true), 0); /* it learns within milliseconds */
	/* the other thread may not have come to stop it */
	assert_int_equal(count_late_posts(5, 20000000, false), 0);
}

TEST(a_modify_after_an_error_leaves_room_to_drain)
{
	struct story s;

	begin_failed(&s, 0, IBV_WC_RETRY_EXC_ERR);
	modify_to(&s, IBV_QPS_ERR, IBV_QP_STATE, 0);
	post_send(&s);
	post_recv(&s);
	story_finds_nothing(&s);
}

/* The old error is polled after the queue pair was reset and connected again. */
TEST(an_error_from_before_the_reset_does_not_count)
{
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	post_send(&s);
	modify_to(&s, IBV_QPS_RESET, IBV_QP_STATE, 0);
	connect_qp(&s);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
	post_send(&s);
	post_send(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_STATE_003], 0);
	story_end(&s);
}

TEST(a_fatal_event_ends_the_service)
{
	struct ibv_async_event fatal = { .element.qp = &a_qp, .event_type = IBV_EVENT_QP_FATAL };
	struct story s;

	begin_story(&s);
	connect_qp(&s);
	story_do(&s, 0, VERB_get_async_event, 34, 0, W(&a_context), W(&fatal));
	post_send(&s);
	story_do(&s, 0, VERB_ack_async_event, 35, 0, W(&fatal));
	destroy_qp(&s, 0);
	story_tells(&s, RULE_STATE_003, "reported by ibv_get_async_event() at");
}

/* An Ethernet port with fe80::1 by RoCE v1 and 10.0.0.1 by v2; the peers in stories. */
static const union ibv_gid own_local = { .raw = { 0xfe, 0x80, [15] = 1 } };
static const union ibv_gid own_ipv4 = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
static const union ibv_gid peer_local = { .raw = { 0xfe, 0x80, [15] = 2 } };
static const union ibv_gid peer_ipv4 = { .raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } };

static void begin_on_ethernet(struct story *s)
{
	struct ibv_port_attr port = { .link_layer = IBV_LINK_LAYER_ETHERNET };
	struct ibv_gid_entry gids[] = {
		{ .gid = own_local, .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V1 },
		{ .gid = own_ipv4, .gid_index = 1, .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2 }
	};

	begin_story(s);
	story_do(s, 0, VERB_query_port, 41, 0, W(&a_context), W(1), W(&port), W(sizeof(port)));
	story_do(s, 0, VERB_query_gid_table, 42, 2, W(&a_context), W(gids), W(16), W(0),
		 W(sizeof(gids[0])));
	modify_to(s, IBV_QPS_INIT, TO_INIT, 0);
}

static void rtr_to(struct story *s, const union ibv_gid *dgid, uint8_t sgid_index, uint64_t ret)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .dest_qp_num = 0x55,
				    .ah_attr = { .is_global = 1, .port_num = 1 } };

	attr.ah_attr.grh.dgid = *dgid;
	attr.ah_attr.grh.sgid_index = sgid_index;
	story_do(s, 0, VERB_modify_qp, 31, ret, W(&a_qp), W(&attr), W(TO_RTR));
}

static const struct of_gid {
	const char *name;
	const union ibv_gid *dgid;
	uint8_t sgid_index;
	int error;
	const char *says; /* NULL: nothing */
} of_gids[] = {
	{ "both_local", &peer_local, 0, 0, NULL },
	{ "both_ipv4", &peer_ipv4, 1, 0, NULL },
	{ "local_to_ipv4", &peer_ipv4, 0, 0,
	  "goes to ::ffff:10.0.0.2 from fe80::1 (RoCE v1, sgid_index 0 of port 1), which is "
	  "link-local; the port has ::ffff:10.0.0.1 (RoCE v2) at sgid_index 1." },
	{ "nobody_answers", &peer_ipv4, 1, ETIMEDOUT,
	  "goes to ::ffff:10.0.0.2 from ::ffff:10.0.0.1 (RoCE v2, sgid_index 1 of port 1); "
	  "ibv_modify_qp() returned 110 (Connection timed out) after 1000 ns." },
	{ "refused_explain_other", &peer_ipv4, 0, ENOMEM, NULL },
};

static void gid_is_chosen(void **state)
{
	const struct of_gid *row = *state;
	struct story s;

	begin_on_ethernet(&s);
	rtr_to(&s, row->dgid, row->sgid_index, (uint64_t)row->error);
	story_check(&s, NULL);
	if (row->says)
		assert_non_null(strstr(story_only(&s, RULE_STATE_008)->says, row->says));
	else
		assert_int_equal(story_found(&s), 0);
	story_end(&s);
}

TEST_ROWS(of_gids, gid_is_chosen);

/* A send by RoCE v1 from @gid was done; the port has the same by RoCE v2 (@both), or another. */
static void send_by_v1(const union ibv_gid *gid, bool both, const char *says)
{
	struct ibv_port_attr port = { .link_layer = IBV_LINK_LAYER_ETHERNET };
	struct ibv_gid_entry gids[] = {
		{ .gid = *gid, .port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V1 },
		{ .gid = both ? *gid : peer_local,
		  .gid_index = 1,
		  .port_num = 1,
		  .gid_type = IBV_GID_TYPE_ROCE_V2 }
	};
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_query_port, 41, 0, W(&a_context), W(1), W(&port), W(sizeof(port)));
	story_do(&s, 0, VERB_query_gid_table, 42, 2, W(&a_context), W(gids), W(16), W(0),
		 W(sizeof(gids[0])));
	modify_to(&s, IBV_QPS_INIT, TO_INIT, 0);
	rtr_to(&s, gid, 0, 0);
	modify_to(&s, IBV_QPS_RTS, TO_RTS, 0);
	post_send(&s);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_SUCCESS, a_qp.qp_num);
	destroy_qp(&s, 0);
	if (says)
		story_warns(&s, RULE_STATE_008, says);
	else
		story_finds_nothing(&s);
}

TEST(roce_v1_where_v2_is_there)
{
	send_by_v1(&own_ipv4, true,
		   "sends from ::ffff:10.0.0.1 (RoCE v1, sgid_index 0 of port 1); the port has "
		   "::ffff:10.0.0.1 for RoCE v2 at sgid_index 1.");
	send_by_v1(&own_ipv4, false, NULL);
	send_by_v1(&own_local, true, NULL); /* no router passes it on either way */
}

/* A send from @sgid_index to a local address is outstanding. */
static void begin_sending(struct story *s, uint8_t sgid_index)
{
	begin_on_ethernet(s);
	rtr_to(s, &peer_local, sgid_index, 0);
	modify_to(s, IBV_QPS_RTS, TO_RTS, 0);
	post_send(s);
}

TEST(nobody_answers_the_first_request)
{
	struct story s;

	begin_sending(&s, 0);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_RETRY_EXC_ERR, a_qp.qp_num);
	story_tells(&s, RULE_STATE_008,
		    "the first completion reports no response (IBV_WC_RETRY_EXC_ERR); the port "
		    "has ::ffff:10.0.0.1");
}

TEST(a_peer_that_answered_before_was_reached)
{
	struct story s;

	begin_sending(&s, 0);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_SUCCESS, a_qp.qp_num);
	post_send(&s);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_RETRY_EXC_ERR, a_qp.qp_num);
	story_finds_nothing(&s);
}

TEST(another_error_says_nothing_of_the_gid)
{
	struct story s;

	begin_sending(&s, 0);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_REM_OP_ERR, a_qp.qp_num);
	story_finds_nothing(&s);
}

TEST(the_best_gid_is_not_blamed)
{
	struct story s;

	begin_sending(&s, 1);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_RETRY_EXC_ERR, a_qp.qp_num);
	story_finds_nothing(&s);
}

static void query_state(struct story *s, int state)
{
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)state };
	struct ibv_qp_init_attr init = { 0 };

	story_do(s, 0, VERB_query_qp, 36, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE), W(&init));
}

TEST(the_state_of_an_answer_counts)
{
	struct story s;

	begin_story(&s);
	query_state(&s, IBV_QPS_RTS); /* another thread has connected it */
	post_send(&s);
	query_state(&s, IBV_QPS_ERR);
	post_send(&s);
	post_send(&s);
	destroy_qp(&s, 0);
	story_tells(&s, RULE_STATE_003, "reported by ibv_query_qp() at");
}

/* The query began before another thread's modify, and returned after it. */
TEST(an_old_answer_does_not_count)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp_init_attr init = { 0 };
	struct story_call query;
	struct story s;
	int other;

	begin_story(&s);
	other = story_thread(&s, STORY_PID, 0, 0);
	query = story_call(&s, other, VERB_query_qp, 36, W(&a_qp), W(&attr), W(IBV_QP_STATE),
			   W(&init));
	connect_qp(&s);
	story_return(&s, &query, 0);
	post_send(&s);
	story_finds_nothing(&s);
}

/* EFA, DCI: the driver defines their states. */
TEST(a_driver_s_own_queue_pair_is_not_judged)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_DRIVER };
	struct ibv_qp qp = a_qp;
	struct story s;

	begin_story(&s);
	qp.state = IBV_QPS_RESET;
	qp.qp_type = IBV_QPT_DRIVER;
	story_do(&s, 0, VERB_create_qp, 32, W(&qp), W(&a_pd), W(&attr));
	story_post(&s, 0, VERB_post_send, &qp, 7, IBV_WR_SEND, a_sge);
	story_finds_nothing(&s);
}

/* To RTS with these. */
static void retry_with(struct story *s, struct ibv_qp_attr attr)
{
	begin_story(s);
	modify_to(s, IBV_QPS_INIT, TO_INIT, 0);
	modify_to(s, IBV_QPS_RTR, TO_RTR, 0);
	attr.qp_state = IBV_QPS_RTS;
	story_do(s, 0, VERB_modify_qp, 32, 0, W(&a_qp), W(&attr), W(TO_RTS));
}

TEST(nothing_is_retried)
{
	static const struct {
		struct ibv_qp_attr attr;
		const char *says;
	} rows[] = {
		{ { .timeout = 0, .retry_cnt = 7, .rnr_retry = 7 }, "went to RTS with timeout 0." },
		{ { .timeout = 14, .retry_cnt = 0, .rnr_retry = 7 }, "to RTS with retry_cnt 0." },
		{ { .timeout = 14, .retry_cnt = 7, .rnr_retry = 0 }, "to RTS with rnr_retry 0." },
		{ { .timeout = 0 }, "to RTS with timeout 0, retry_cnt 0, rnr_retry 0." },
	};
	struct story s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		retry_with(&s, rows[i].attr);
		story_warns(&s, RULE_STATE_009, rows[i].says);
	}
}

/* After ten minutes at the latest a peer that is gone should be noticed. */
TEST(a_peer_is_retried_for_hours)
{
	struct story s;

	retry_with(&s, (struct ibv_qp_attr){ .timeout = 31, .retry_cnt = 7, .rnr_retry = 7 });
	story_warns(&s, RULE_STATE_009, "went to RTS with timeout 31 and retry_cnt 7.");
	retry_with(&s, (struct ibv_qp_attr){ .timeout = 24, .retry_cnt = 7, .rnr_retry = 7 });
	story_finds_nothing(&s);
}

TEST(one_retry_is_one)
{
	struct story s;

	retry_with(&s, (struct ibv_qp_attr){ .timeout = 14, .retry_cnt = 1, .rnr_retry = 1 });
	story_finds_nothing(&s);
}

TEST(a_peer_is_given_up_at_once)
{
	struct story s;

	retry_with(&s, (struct ibv_qp_attr){ .timeout = 4, .retry_cnt = 7, .rnr_retry = 7 });
	story_warns(&s, RULE_STATE_009,
		    "went to RTS with timeout 4 and retry_cnt 7: it gives up 524.3 us after a "
		    "request.");
	retry_with(&s, (struct ibv_qp_attr){ .timeout = 5, .retry_cnt = 7, .rnr_retry = 7 });
	story_finds_nothing(&s);
}
