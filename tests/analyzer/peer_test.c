/* analyzer/model/peer.c, analyzer/rules/mkey_peer.c: two connected processes. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

TEST(a_write_to_the_peers_region)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, LENGTH, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	story_finds_nothing(&s);
}

TEST(a_write_that_leaves_the_peers_region)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT + 1, LENGTH, 0x21);
	story_tells(&s, RULE_MKEY_004, "rkey 0x21, which is mr1 of pd1 of process 2: 4096 bytes");
}

TEST(a_key_that_the_peer_took_back)
{
	struct story s;

	begin_story(&s);
	story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&ends[1].mr));
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_004, "of process 2 until ibv_dereg_mr() at 2:");
}

TEST(a_key_that_the_peer_took_back_meanwhile)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&ends[1].mr));
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_004, "its ibv_dereg_mr(), 2:");
}

TEST(a_key_that_was_taken_back_after_the_write)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&ends[1].mr));
	poll_as(&s, IBV_WC_SUCCESS);
	story_finds_nothing(&s);
}

TEST(an_lkey_is_no_rkey)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x20);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_004, "but of mr1 of pd1, whose lkey it is");
}

TEST(an_address_in_another_region_of_the_peer)
{
	struct ibv_mr other;
	struct story s;

	begin_story(&s);
	other = ends[1].mr;
	other.addr = (void *)(AT + 0x10000);
	other.lkey = 0x30;
	other.rkey = 0x31;
	register_as(&s, 1, &other, FAR);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT + 0x10000, 8, 0x21);
	story_tells(&s, RULE_MKEY_004, "; it is in mr2 of pd1, with rkey 0x31");
}

/* A write with @rkey, which the peer never had; another process, if @ended, had it. */
static void write_with(uint32_t rkey, bool ended, const char *says)
{
	struct ibv_context context = { .num_comp_vectors = 1 };
	struct ibv_pd pd = { .context = &context };
	struct ibv_mr mr = {
		.context = &context, .pd = &pd, .addr = (void *)AT, .length = 64, .lkey = 1
	};
	struct story s;
	int thread;

	begin_story(&s);
	if (ended) {
		mr.rkey = rkey;
		thread = story_thread(&s, PEER + 1, 0, 0);
		story_do(&s, thread, VERB_open_device, 1, W(&context), W(0x1000));
		story_do(&s, thread, VERB_alloc_pd, 2, W(&pd), W(&context));
		register_as(&s, thread, &mr, FAR);
		story_exit(&s, PEER + 1, 0);
	}
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, rkey);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_004], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_004)
			assert_non_null(strstr(s.findings->all[i]->says, says));
	story_end(&s);
}

TEST(what_an_unknown_rkey_was_meant_for)
{
	write_with(0x777, false, "for qp1; it completed with");
	write_with(0, false, "for qp1: the field was perhaps not filled in");
	write_with(0x777, true, "for qp1, but of mr1 of pd1 of process 3, which has ended;");
}

/* The number is a key of the sender, too; @at: where the sender's region is. */
static void write_with_dead_key(uint64_t at, const char *says)
{
	struct ibv_context context = { .num_comp_vectors = 1 };
	struct ibv_pd pd = { .context = &context };
	struct ibv_mr mr = { .context = &context, .pd = &pd, .lkey = 1, .rkey = 0x777 }, own;
	struct story s;
	int thread;

	begin_story(&s);
	mr.addr = (void *)(AT + 0x10000);
	mr.length = 64;
	thread = story_thread(&s, PEER + 1, 0, 0);
	story_do(&s, thread, VERB_open_device, 1, W(&context), W(0x1000));
	story_do(&s, thread, VERB_alloc_pd, 2, W(&pd), W(&context));
	register_as(&s, thread, &mr, FAR);
	story_exit(&s, PEER + 1, 0);
	own = ends[0].mr;
	own.addr = (void *)at;
	own.lkey = 0x776;
	own.rkey = 0x777;
	register_as(&s, 0, &own, FAR);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT + 0x10000, 8, 0x777);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_check(&s, NULL);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_004)
			assert_non_null(strstr(s.findings->all[i]->says, says));
	assert_int_equal(s.findings->rules[RULE_MKEY_004], 1);
	story_end(&s);
}

TEST(the_number_of_a_dead_process_s_key_is_one_of_the_sender_too)
{
	write_with_dead_key(AT + 0x20000, "but of mr1 of pd1 of process 3, which has ended;");
	write_with_dead_key(AT + 0x10000,
			    "but of mr1 of pd1 of process 3, which has ended, or of mr2 "
			    "of pd1 of the sender itself;");
}

TEST(an_unknown_rkey_that_works_is_somebody_elses)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x77);
	poll_as(&s, IBV_WC_SUCCESS);
	story_finds_nothing(&s);
}

TEST(a_region_of_another_domain_of_the_peer)
{
	struct ibv_pd pd = { .context = &ends[1].context, .handle = 2 };
	struct ibv_mr mr;
	struct story s;

	begin_story(&s);
	mr = ends[1].mr;
	mr.pd = &pd;
	mr.rkey = 0x31;
	mr.lkey = 0x30;
	story_do(&s, 1, VERB_alloc_pd, 2, W(&pd), W(&ends[1].context));
	register_as(&s, 1, &mr, FAR);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x31);
	story_tells(&s, RULE_MKEY_004,
		    "is mr2 of pd2 of process 2, and qp1 of that process is in "
		    "pd1");
}

TEST(a_region_that_does_not_allow_it)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	story_tells(&s, RULE_MKEY_003,
		    "of process 2, which was registered without IBV_ACCESS_REMOTE_READ");
}

TEST(a_queue_pair_that_does_not_allow_it)
{
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, IBV_ACCESS_REMOTE_READ);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_003, "lack IBV_ACCESS_REMOTE_WRITE");
}

/* With another LID, or another number, it is not the peer. */
static const struct stranger {
	const char *name;
	uint32_t number, its_number;
	uint16_t lid;
} strangers[] = {
	{ "a_lid_of_another_device", 0x22, 0x21, 0x99 },
	{ "it_is_connected_to_another", 0x22, 0x99, 0x22 },
	{ "we_are_connected_to_another", 0x99, 0x21, 0x22 },
};

static void stranger_is_not_the_peer(void **state)
{
	const struct stranger *stranger = *state;
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, stranger->number, stranger->lid, FAR);
	connect_end(&s, 1, stranger->its_number, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT + 1, LENGTH, 0x21);
	story_finds_nothing(&s);
}
TEST_ROWS(strangers, stranger_is_not_the_peer);

TEST(the_keys_of_a_peer_that_has_ended_are_no_mistake)
{
	struct story s;

	begin_story(&s);
	story_exit(&s, PEER, 9);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	story_finds_nothing(&s);
}

TEST(deregistered_while_a_write_is_outstanding)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_tells(&s, RULE_MKEY_005, "1 request that uses it");
}

TEST(deregistered_after_the_completion)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_finds_nothing(&s);
}

TEST(in_the_error_state_nothing_is_in_flight)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	story_do(&s, 0, VERB_modify_qp, 33, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_005], 0);
	story_end(&s);
}

TEST(a_receive_whose_region_went)
{
	const struct event_sge sge = { AT, 8, 0x10 };
	struct story s;

	begin_story(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, sge);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	poll_as(&s, IBV_WC_LOC_PROT_ERR);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_MKEY_005], 1); /* when it went */
	assert_int_equal(s.findings->rules[RULE_MKEY_005], 1);   /* when it failed */
	assert_non_null(strstr(s.findings->all[1]->says, "the receive was outstanding then"));
	story_end(&s);
}

/* Harm comes only with a message. */
TEST(a_receive_that_nobody_needed)
{
	const struct event_sge sge = { AT, 8, 0x10 };
	struct story s;

	begin_story(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, sge);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_warns(&s, RULE_MKEY_005, "while 1 request that uses it was outstanding on qp1");
}

static void move_to_error(struct story *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	story_do(s, 0, VERB_modify_qp, 33, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
}

/* No message can use the receive any more. */
TEST(a_receive_of_a_queue_pair_in_error)
{
	const struct event_sge sge = { AT, 8, 0x10 };
	struct story s;

	begin_story(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, sge);
	move_to_error(&s);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_MKEY_005], 0);
	story_end(&s);
}

static void post_unsignalled(struct story *s)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge sge = { AT, 8, 0x10 };

	event->object = W(&ends[0].qp);
	event->verb = (unsigned int)VERB_post_send & 0x1ff;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 3, .opcode = IBV_WR_SEND, .nsge = 1 };
	memcpy(wr + 1, &sge, sizeof(sge));
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(sge)) / 8);
}

TEST(an_unsignalled_send_may_not_be_done)
{
	struct story s;

	begin_story(&s);
	post_unsignalled(&s);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_warns(&s, RULE_MKEY_005, "wr[0].sg_list[0] of IBV_WR_SEND at 1:");
}

static void poll_message(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[0].cq);
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = ends[0].qp.qp_num };
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* What came since may be its answer. */
TEST(a_completion_may_say_that_an_unsignalled_send_is_done)
{
	const struct event_sge sge = { AT + 64, 8, 0x10 };
	struct story s;

	begin_story(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, sge);
	post_unsignalled(&s);
	poll_message(&s);
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_MKEY_005], 0);
	story_end(&s);
}

/* The peer binds a window of its region, and gives it rkey 0x41. */
static struct ibv_mw window;

static void allocate_window(struct story *s)
{
	window = (struct ibv_mw){
		.context = &ends[1].context, .pd = &ends[1].pd, .rkey = 0x40, .type = IBV_MW_TYPE_1
	};
	story_do(s, 1, VERB_alloc_mw, 5, W(&window), W(&ends[1].pd), W(IBV_MW_TYPE_1));
}

static void bind_window(struct story *s, uint64_t length)
{
	struct ibv_mw_bind bind = { .wr_id = 5,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = &ends[1].mr,
						   .addr = AT,
						   .length = length,
						   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } };
	struct story_call call =
		story_call(s, 1, VERB_bind_mw, 6, W(&ends[1].qp), W(&window), W(&bind));

	window.rkey = 0x41;
	story_return(s, &call, 0);
}

static void bind_completes(struct story *s)
{
	story_poll(s, 1, &ends[1].cq, 5, IBV_WC_SUCCESS, ends[1].qp.qp_num);
}

TEST(a_window_that_is_bound)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	bind_window(&s, LENGTH);
	bind_completes(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x41);
	story_finds_nothing(&s);
}

TEST(a_window_that_was_never_bound)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x40);
	story_tells(&s, RULE_MKEY_008, "which had never been bound");
}

/* The window was bound once, and a request used the key that a later bind will give. */
TEST(a_window_that_had_another_key)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	bind_window(&s, LENGTH);
	bind_completes(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x42);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_004,
		    "; it differs only in its last 8 bits, which change with each bind, from 0x41 "
		    "of mw1 of pd1");
}

/* The range of a window is that of its last bind; the request was refused. */
TEST(a_window_that_is_bound_to_another_range)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	bind_window(&s, LENGTH / 2);
	bind_completes(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT + LENGTH / 2 - 4, 8, 0x41);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_004,
		    "; the access ends 4 bytes past its end. The request completed with");
}

TEST(a_range_within_a_window_is_not_the_reason)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	bind_window(&s, LENGTH / 2);
	bind_completes(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT + LENGTH / 2 - 8, 8, 0x41);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_finds_nothing(&s);
}

TEST(a_window_that_is_bound_no_longer)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	bind_window(&s, LENGTH);
	bind_completes(&s);
	bind_window(&s, 0);
	bind_completes(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x41);
	story_tells(&s, RULE_MKEY_008, "which was no longer bound");
}

TEST(a_window_whose_bind_has_not_completed)
{
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	bind_window(&s, LENGTH);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x41);
	bind_completes(&s);
	story_tells(&s, RULE_MKEY_008, "had not completed");
}

TEST(a_message_behind_the_bind_brings_the_key)
{
	const struct event_sge sge = { AT, 8, 0x20 }, mine = { AT, 8, 0x10 };
	struct story s;

	begin_story(&s);
	allocate_window(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 9, 0, mine);
	bind_window(&s, LENGTH);
	story_post(&s, 1, VERB_post_send, &ends[1].qp, 6, IBV_WR_SEND, sge);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x41);
	story_finds_nothing(&s);
}
