/* The rules of analyzer/rules/perf.c over stored traces. */
#include "tests/analyzer/posted.h"
#include "tests/test.h"

enum { MANY = 12000, WARM = 1100, DEPTH = 32 };

static struct ibv_qp_cap deep = { DEPTH, DEPTH, 1, 1, 64 };

/* The next is not ready when it is done: advice_test.c has those that are. */
static void post_and_poll(struct story *s, uint64_t wr_id)
{
	s->now += 2000;
	post_sends(s, wr_id, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	poll_sends(s, wr_id, 1);
}

static void register_and_forget(struct story *s)
{
	reg_mr(s, &a_mr);
	dereg_mr(s, &a_mr, 0);
}

TEST(registrations_between_messages)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < WARM; i++)
		post_and_poll(&s, i);
	for (uint64_t i = 0; i < 20; i++) {
		register_and_forget(&s);
		post_and_poll(&s, i);
	}
	end_well(&s);
	story_tells(&s, RULE_PERF_001, "40 calls that register memory or create queue pairs took");
}

static void query_qp(struct story *s)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	story_do(s, 0, VERB_query_qp, 30, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE), W(&init));
}

TEST(a_query_for_each_message)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 300; i++) {
		query_qp(&s);
		post_and_poll(&s, i);
	}
	end_well(&s);
	story_tells(&s, RULE_PERF_010, "299 calls such as ibv_query_qp() between 300 posts: ");
}

/* Set-up, and a look now and then. */
TEST(queries_at_the_begin_are_no_habit)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 300; i++)
		query_qp(&s);
	for (uint64_t i = 0; i < 300; i++) {
		s.now += 200000;
		if (i % 10 == 0)
			query_qp(&s);
		post_and_poll(&s, i);
	}
	end_well(&s);
	story_finds_nothing(&s);
}

/* Few messages, but each has a region of its own: as many as there are sends. */
TEST(a_region_for_each_message)
{
	struct story s;

	begin_with(&s, deep, deep);
	post_and_poll(&s, 0);
	for (uint64_t i = 1; i < 20; i++) {
		reg_mr(&s, &a_mr);
		post_and_poll(&s, i);
		dereg_mr(&s, &a_mr, 0);
	}
	end_well(&s);
	story_tells(&s, RULE_PERF_001,
		    "19 regions were deregistered at most 4 sends after they had been registered, "
		    "for 20 sends in total.");
}

TEST(regions_that_live_long_are_no_churn)
{
	struct story s;

	begin_with(&s, deep, deep);
	post_and_poll(&s, 0);
	for (uint64_t i = 1; i < 20; i++) {
		reg_mr(&s, &a_mr);
		for (uint64_t k = 0; k < 5; k++)
			post_and_poll(&s, 5 * i + k);
		dereg_mr(&s, &a_mr, 0);
	}
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(registrations_before_and_after_the_work)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 50; i++) {
		register_and_forget(&s);
		post_and_poll(&s, i);
	}
	for (uint64_t i = 0; i < WARM; i++)
		post_and_poll(&s, i);
	for (uint64_t i = 0; i < 50; i++)
		register_and_forget(&s);
	end_well(&s);
	story_finds_nothing(&s);
}

/* The registration does not delay the posts of the other thread. */
TEST(another_thread_registers)
{
	struct story s;
	int other;

	begin_with(&s, deep, deep);
	other = story_thread(&s, STORY_PID, 0, 0);
	for (uint64_t i = 0; i < WARM; i++)
		post_and_poll(&s, i);
	for (uint64_t i = 0; i < 50; i++) {
		story_do(&s, other, VERB_reg_mr, 5, W(&a_mr), W(&a_pd), W(0), W(4096), W(1));
		story_do(&s, other, VERB_dereg_mr, 9, 0, W(&a_mr));
		post_and_poll(&s, i);
	}
	end_well(&s);
	story_finds_nothing(&s);
}

/* @each sends at a time, in lists of @list. */
static void post_in_lists(struct story *s, uint32_t each, uint32_t list)
{
	for (uint64_t i = 0; i < MANY; i += each) {
		for (uint32_t j = 0; j < each - list; j += list)
			post_sends(s, i + j, list, IBV_SEND_INLINE);
		post_sends(s, i + each - list, list, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
		for (uint32_t j = 0; j < list; j++)
			poll_sends(s, i + each - list + j, 1);
	}
}

TEST(requests_are_posted_one_by_one)
{
	struct story s;

	begin_with(&s, deep, deep);
	post_in_lists(&s, 8, 1);
	end_well(&s);
	story_tells(&s, RULE_PERF_002, "10,500 of 12,000 posts to the send queue");
}

/* As in a snapshot: the process goes on, and its queue pair exists. */
TEST(requests_are_posted_one_by_one_to_the_end_of_the_trace)
{
	struct story s;

	begin_with(&s, deep, deep);
	post_in_lists(&s, 8, 1);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_PERF_002], 1);
	story_end(&s);
}

/* @n sends, @each in a row, @pause ns behind them. */
static uint64_t post_few(uint32_t n, uint32_t each, int64_t pause)
{
	struct story s;
	uint64_t found;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < n; i += each) {
		for (uint64_t k = 0; k < each; k++)
			post_sends(&s, i + k, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
		poll_sends(&s, i, each);
		s.now += pause;
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->rules[RULE_PERF_002];
	story_end(&s);
	return found;
}

TEST(few_posts_that_take_a_part_of_the_time)
{
	assert_int_equal(post_few(400, 8, 0), 1);
	assert_int_equal(post_few(400, 8, 1000000), 0);
	assert_int_equal(post_few(400, 2, 0), 0);
	assert_int_equal(post_few(200, 8, 0), 0);
	assert_int_equal(post_few(400, 32, 0), 0); /* 12 runs */
}

/* A pingpong fills its receive queue at its start, and again when it has become empty. */
TEST(receives_that_are_posted_at_the_start)
{
	struct ibv_qp_cap room = { 500, 500, 1, 1, 64 };
	struct story s;

	begin_with(&s, room, room);
	for (int fill = 0; fill < 4; fill++) {
		for (uint64_t i = 0; i < 499; i++)
			post_list(&s, 0,
				  &(struct posted){ .verb = VERB_post_recv, .wr_id = i, .n = 1 });
		for (uint64_t i = 0; i < 499; i++) {
			poll_receive(&s, 0, i);
			s.now += 2000;
		}
	}
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_PERF_002], 0);
	story_end(&s);
}

TEST(posts_are_shown_where_they_were_made)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, deep, deep);
	post_in_lists(&s, 8, 1);
	end_well(&s);
	story_check(&s, NULL);
	f = s.findings->all[0];
	assert_int_equal(f->nsteps, 2);
	assert_string_equal(f->steps[0].what, "created");
	assert_string_equal(f->steps[1].what, "posted last");
	assert_int_equal(f->steps[1].moment.verb, VERB_post_send);
	story_end(&s);
}

TEST(requests_are_posted_by_lists)
{
	struct story s;

	begin_with(&s, deep, deep);
	post_in_lists(&s, 8, 2);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_PERF_002], 0);
	story_end(&s);
}

/* A ping-pong cannot do otherwise. */
TEST(one_request_and_one_completion_at_a_time)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < MANY; i++)
		post_and_poll(&s, i);
	end_well(&s);
	story_finds_nothing(&s);
}

static void post_deep(struct story *s, uint32_t flags)
{
	for (uint64_t i = 0; i < MANY; i += DEPTH / 2) {
		post_sends(s, i, DEPTH / 2, flags);
		poll_sends(s, i, DEPTH / 2);
	}
}

TEST(completions_are_polled_one_by_one)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, deep, deep);
	post_deep(&s, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_PERF_003], 1);
	assert_int_equal(s.findings->rules[RULE_PERF_004], 1);
	f = s.findings->all[0];
	assert_non_null(strstr(f->says, "outstanding"));
	story_end(&s);
}

/* @n polls of one completion, 16 in a row, and @pause ns behind them. */
static uint64_t poll_few(uint64_t n, int64_t pause)
{
	struct story s;
	uint64_t found;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < n; i += DEPTH / 2) {
		post_sends(&s, i, DEPTH / 2, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
		poll_sends(&s, i, DEPTH / 2);
		s.now += pause;
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->rules[RULE_PERF_003];
	story_end(&s);
	return found;
}

TEST(few_polls_that_take_a_part_of_the_time)
{
	assert_int_equal(poll_few(320, 0), 1);
	assert_int_equal(poll_few(320, 1000000), 0);
	assert_int_equal(poll_few(160, 0), 0);
}

/* @n sends that would fit inline, in lists. */
static uint64_t send_small(uint64_t n, uint32_t flags)
{
	struct story s;
	uint64_t found;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < n; i += DEPTH / 2) {
		post_sends(&s, i, DEPTH / 2, i + DEPTH / 2 < n ? flags : flags & ~IBV_SEND_INLINE);
		poll_sends(&s, i, DEPTH / 2);
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->rules[RULE_PERF_004];
	story_end(&s);
	return found;
}

TEST(small_sends_that_are_not_inline)
{
	assert_int_equal(send_small(256, IBV_SEND_SIGNALED), 1);
	assert_int_equal(send_small(240, IBV_SEND_SIGNALED), 0);
	assert_int_equal(send_small(512, IBV_SEND_SIGNALED | IBV_SEND_INLINE), 0);
}

/* READs cannot be inline. */
TEST(small_reads_are_not_inline)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 512; i++) {
		story_post(&s, 0, VERB_post_send, &a_qp, i, IBV_WR_RDMA_READ,
			   (struct event_sge){ 0x1000 + 64 * i, 64, 0x10 });
		poll_sends(&s, i, 1);
	}
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_PERF_004], 0);
	story_end(&s);
}

static void poll_burst(struct story *s, uint32_t n)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&a_cq);
	event->ret = (int32_t)n;
	event->nwc = n;
	for (uint32_t i = 0; i < n; i++) {
		wc[i].wr_id = i;
		wc[i].qp_num = a_qp.qp_num;
	}
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + n * sizeof(*wc)) / 8);
}

static void poll_bursts(struct story *s, int times, uint32_t n)
{
	struct ibv_qp_cap huge = { 512, 1, 1, 1, 64 };

	begin_with(s, huge, huge);
	for (int i = 0; i < times; i++) {
		for (uint32_t j = 0; j < n; j += 64)
			post_sends(s, j, 64, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
		poll_burst(s, n);
	}
	end_well(s);
	story_check(s, NULL);
}

TEST(many_completions_at_once)
{
	struct story s;

	poll_bursts(&s, 20, 320);
	assert_int_equal(s.findings->rules[RULE_PERF_005], 1);
	story_end(&s);
}

TEST(few_completions_at_once)
{
	struct story s;

	poll_bursts(&s, 20, 192);
	assert_int_equal(s.findings->rules[RULE_PERF_005], 0);
	story_end(&s);
}

/* A thread polls @n completions after @pause ns. */
static uint64_t poll_late(int times, uint32_t n, int64_t pause, bool in_between)
{
	struct ibv_qp_cap room = { 256, 1, 1, 1, 64 };
	struct story s;
	uint64_t found;

	begin_with(&s, room, room);
	for (int i = 0; i < times; i++) {
		post_sends(&s, 0, n, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
		s.now += pause;
		if (in_between)
			post_sends(&s, n, 1, IBV_SEND_INLINE);
		poll_burst(&s, n);
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->rules[RULE_PERF_005];
	story_end(&s);
	return found;
}

TEST(completions_that_wait_for_a_poll)
{
	assert_int_equal(poll_late(20, 64, 20000000, false), 1);
	assert_int_equal(poll_late(20, 63, 20000000, false), 0);
	assert_int_equal(poll_late(20, 64, 900000, false), 0);
	assert_int_equal(poll_late(16, 64, 20000000, false), 0); /* before the first: not known */
	assert_int_equal(poll_late(20, 64, 20000000, true), 0);  /* it was busy with posts */
}

/* Few messages, but each has a queue pair of its own. */
TEST(a_queue_pair_for_each_message)
{
	struct story s;

	begin_with(&s, deep, deep);
	post_and_poll(&s, 0);
	for (uint64_t i = 1; i < 20; i++) {
		post_and_poll(&s, i);
		destroy_qp(&s, 0);
		create_roomy(&s, deep, deep);
	}
	end_well(&s);
	story_tells(&s, RULE_PERF_001,
		    "18 queue pairs were destroyed at most 4 sends after they had been created, "
		    "for 20 sends in total. Creating and destroying them took 39.0 us; the "
		    "longest, 1:126, took 1000 ns.");
}

/* Opened and closed again before each message: none is posted in between. */
TEST(a_context_for_each_message)
{
	struct ibv_context other = { .num_comp_vectors = 1 };
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 20; i++) {
		post_and_poll(&s, i);
		story_do(&s, 0, VERB_open_device, 31, W(&other), W(0x1000));
		story_do(&s, 0, VERB_close_device, 32, 0, W(&other));
	}
	end_well(&s);
	story_tells(&s, RULE_PERF_001,
		    "20 contexts were destroyed at most 4 sends after they had been created, for "
		    "20 sends in total.");
}

/* @paths: of the handles, in turn. */
static uint64_t make_handles(unsigned int paths)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_ah handle = { .context = &a_context, .pd = &a_pd };
	struct story s;
	uint64_t found;

	begin_with(&s, deep, deep);
	for (unsigned int i = 0; i < 20; i++) {
		post_and_poll(&s, i);
		attr.grh.dgid.raw[15] = (uint8_t)(i % paths);
		story_do(&s, 0, VERB_create_ah, 33, W(&handle), W(&a_pd), W(&attr));
		story_do(&s, 0, VERB_destroy_ah, 34, 0, W(&handle));
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->rules[RULE_PERF_010];
	story_end(&s);
	return found;
}

TEST(an_address_handle_for_each_message)
{
	assert_int_equal(make_handles(1), 1);
	assert_int_equal(make_handles(5), 0); /* each client gets an AH of its own */
}

TEST(a_cq_is_resized_for_each_message)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 50; i++) {
		story_do(&s, 0, VERB_resize_cq, 35, 0, W(&a_cq), W(64 + i % 2));
		post_and_poll(&s, i);
	}
	end_well(&s);
	story_tells(&s, RULE_PERF_010, "49 calls such as ibv_resize_cq() between 50 posts: ");
}

/* A receiver that looks every @pause ns, and found a message each time, or at every second one. */
static uint64_t sleep_and_poll(int64_t pause, uint64_t every)
{
	struct story s;
	uint64_t found;

	begin_with(&s, deep, deep);
	for (uint64_t i = 0; i < 40; i++) {
		post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = i, .n = 1 });
		s.now += pause;
		if (i % every == 0)
			poll_receive(&s, 0, i);
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->rules[RULE_PERF_005];
	story_end(&s);
	return found;
}

TEST(messages_that_wait_for_a_poll)
{
	assert_int_equal(sleep_and_poll(10000000, 1), 1);
	assert_int_equal(sleep_and_poll(900000, 1), 0);
	assert_int_equal(sleep_and_poll(10000000, 4), 0); /* too few to be sure */
}
