/* The rules of analyzer/rules/outstanding.c over stored traces. */
#include <rdma/rdma_cma.h>

#include "tests/analyzer/ends.h"
#include "tests/analyzer/posted.h"
#include "tests/test.h"

enum { MANY = 400 };

static struct ibv_ah an_ah = { .context = &a_context, .pd = &a_pd, .handle = 3 };

static void create_ah(struct story *s)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };

	story_do(s, 0, VERB_create_ah, 30, W(&an_ah), W(&a_pd), W(&attr));
}

static void destroy_ah(struct story *s, uint64_t ret)
{
	story_do(s, 0, VERB_destroy_ah, 31, ret, W(&an_ah));
}

static void post_datagram(struct story *s, uint64_t wr_id, uint32_t flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);

	event->object = W(&a_qp);
	event->verb = (unsigned int)VERB_post_send & 0x1ff;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = wr_id, .opcode = IBV_WR_SEND, .flags = (uint8_t)flags, .parts = WR_UD
	};
	*ud = (struct event_ud){ .ah = W(&an_ah), .remote_qpn = 1 };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*ud)) / 8);
}

static void begin_datagrams(struct story *s)
{
	begin_with(s, cap, cap);
	create_ah(s);
}

TEST(an_address_handle_is_destroyed_too_early)
{
	struct story s;

	begin_datagrams(&s);
	post_datagram(&s, 7, IBV_SEND_SIGNALED);
	destroy_ah(&s, 0);
	poll_sends(&s, 7, 1);
	end_well(&s);
	story_tells(&s, RULE_LIFE_008,
		    "ah1 was destroyed while 1 request that used it was "
		    "outstanding on qp1 (number 0x21)");
}

TEST(an_address_handle_is_destroyed_in_time)
{
	struct story s;

	begin_datagrams(&s);
	post_datagram(&s, 7, IBV_SEND_SIGNALED);
	poll_sends(&s, 7, 1);
	destroy_ah(&s, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

/* The program may know from the reply that it was sent. */
TEST(an_unsignalled_datagram_says_nothing)
{
	struct story s;

	begin_datagrams(&s);
	post_datagram(&s, 7, 0);
	destroy_ah(&s, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_handle_whose_destroy_failed_is_still_there)
{
	struct story s;

	begin_datagrams(&s);
	post_datagram(&s, 7, IBV_SEND_SIGNALED);
	destroy_ah(&s, EINVAL);
	poll_sends(&s, 7, 1);
	destroy_ah(&s, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

static void put_into_err(struct story *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	story_do(s, 0, VERB_modify_qp, 32, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE));
}

static void post_receives(struct story *s, uint64_t wr_id, uint32_t n)
{
	post_list(s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = wr_id, .n = n });
}

TEST(a_queue_pair_in_err_is_destroyed_unpolled)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_receives(&s, 0, 3);
	put_into_err(&s);
	end_well(&s);
	story_tells(&s, RULE_COMPL_002, "destroyed with 0 signalled sends and 3 receives");
}

/* The CQ of the queue pair may have lost the completions. */
TEST(a_queue_pair_in_err_is_destroyed_whose_cq_is_too_small)
{
	const int cqe = a_cq.cqe;
	struct story s;

	a_cq.cqe = 2;
	begin_with(&s, cap, cap);
	a_cq.cqe = cqe;
	post_receives(&s, 0, 3);
	put_into_err(&s);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_002], 0);
	assert_int_equal(s.findings->rules[RULE_QUEUE_003], 1);
	story_end(&s);
}

/* The CQ delivers no more completions, and the program cannot wait for any. */
TEST(a_queue_pair_in_err_is_destroyed_whose_cq_has_overrun)
{
	struct ibv_async_event overrun = { .element.cq = &a_cq, .event_type = IBV_EVENT_CQ_ERR };
	struct story s;

	begin_with(&s, cap, cap);
	post_receives(&s, 0, 3);
	story_do(&s, 0, VERB_get_async_event, 31, 0, W(&a_context), W(&overrun));
	put_into_err(&s);
	story_do(&s, 0, VERB_ack_async_event, 33, 0, W(&overrun));
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_002], 0);
	story_end(&s);
}

TEST(a_queue_pair_in_err_is_drained)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_receives(&s, 0, 3);
	put_into_err(&s);
	for (uint64_t i = 0; i < 3; i++)
		story_poll(&s, 0, &a_cq, i, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
	end_well(&s);
	story_finds_nothing(&s);
}

/* Most programs leave their receives to the destroy. */
TEST(a_queue_pair_is_destroyed_with_its_receives)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_receives(&s, 0, 3);
	end_well(&s);
	story_finds_nothing(&s);
}

/* MANY receives, one at a time, with @numbers different wr_ids and @buffers different buffers. */
static void receive_many(struct story *s, uint64_t numbers, uint64_t buffers)
{
	for (uint64_t i = 0; i < MANY; i++) {
		struct posted p = { .verb = VERB_post_recv, .wr_id = i % numbers, .n = 1 };

		p.buffer = 1 + i % buffers;
		post_list(s, 0, &p);
		poll_receive(s, 0, p.wr_id);
	}
}

/* Two receives that are outstanding at the same time. */
static void receive_two(struct story *s, uint64_t number, uint64_t buffer)
{
	struct posted p = { .verb = VERB_post_recv, .wr_id = 1000, .n = 1, .buffer = 1000 };

	post_list(s, 0, &p);
	p.wr_id = number;
	p.buffer = buffer;
	post_list(s, 0, &p);
}

TEST(a_number_is_given_to_two_requests)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	receive_many(&s, MANY, MANY);
	receive_two(&s, 1000, 1007);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_COMPL_006);
	assert_non_null(
		strstr(f->says, "wr_id 0x3e8 has been outstanding on qp1 (number 0x21) since"));
	assert_string_equal(f->where, "ibv_post_recv(): wr[0].wr_id");
	story_end(&s);
}

TEST(a_buffer_is_posted_twice)
{
	struct story s;

	begin_with(&s, cap, cap);
	receive_many(&s, MANY, 4);
	receive_two(&s, 1001, 1000);
	end_well(&s);
	story_tells(&s, RULE_MKEY_007, "The 400 requests completed on this queue before");
}

TEST(the_same_request_twice_is_one_finding)
{
	struct story s;

	begin_with(&s, cap, cap);
	receive_many(&s, MANY, MANY);
	receive_two(&s, 1000, 1000);
	end_well(&s);
	story_check(&s, NULL);
	story_only(&s, RULE_MKEY_007);
	story_end(&s);
}

/* As rsockets do: the number of a send is its length. One was outstanding at a time until now. */
TEST(numbers_that_are_lengths)
{
	struct story s;
	struct posted p = { .verb = VERB_post_send,
			    .wr_id = 256,
			    .n = 1,
			    .length = 256,
			    .flags = IBV_SEND_SIGNALED };

	begin_with(&s, cap, cap);
	for (uint64_t i = 0; i < MANY; i++) {
		p.buffer = 1 + i % 7;
		post_list(&s, 0, &p);
		poll_sends(&s, p.wr_id, 1);
	}
	for (p.buffer = 1; p.buffer < 30; p.buffer += 10)
		post_list(&s, 0, &p);
	poll_sends(&s, p.wr_id, 1);
	poll_sends(&s, p.wr_id, 1);
	poll_sends(&s, p.wr_id, 1);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_006], 0);
	assert_int_equal(s.findings->hazards[RULE_COMPL_006], 0);
	story_end(&s);
}

/* A message in parts, after many that were in one. */
TEST(parts_of_a_message_have_one_number)
{
	struct story s;

	begin_with(&s, cap, cap);
	receive_many(&s, MANY, MANY);
	receive_two(&s, 1000, 1001);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_006], 0);
	story_end(&s);
}

/* ibv_rc_pingpong has one number and one buffer for all its receives. */
TEST(a_program_that_never_told_them_apart)
{
	struct story s;

	begin_with(&s, cap, cap);
	receive_two(&s, 1000, 1000);
	poll_receive(&s, 0, 1000);
	poll_receive(&s, 0, 1000);
	receive_many(&s, 1, 1);
	receive_two(&s, 1000, 1000);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_007], 0);
	assert_int_equal(s.findings->rules[RULE_COMPL_006], 0);
	story_end(&s);
}

/* A poll of another thread may be recorded late: the first may have completed. */
TEST(another_thread_polls)
{
	struct story s;
	int other;

	begin_with(&s, cap, cap);
	other = story_thread(&s, STORY_PID, 0, 0);
	receive_many(&s, MANY, MANY);
	post_receives(&s, 5000, 1);
	poll_receive(&s, other, 5000);
	receive_two(&s, 1000, 1000);
	end_well(&s);
	story_warns(&s, RULE_MKEY_007, "the receive with wr_id 0x3e8");
}

TEST(a_completion_comes_after_the_destroy)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 7, 1, IBV_SEND_SIGNALED);
	destroy_qp(&s, 0);
	poll_sends(&s, 7, 1);
	story_tells(&s, RULE_LIFE_005, "A completion of qp1 (number 0x21), wr_id 0x7, was polled ");
}

/* The receive that it has taken is still outstanding, in the SRQ. */
TEST(a_receive_of_an_srq_comes_after_the_destroy)
{
	struct ibv_srq srq = { .context = &a_context, .pd = &a_pd };
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .srq = &srq, .qp_type = IBV_QPT_RC, .cap = cap
	};
	struct story s;

	story_with_cq(&s);
	story_do(&s, 0, VERB_create_srq, 5, W(&srq), W(&a_pd), W(&of_srq));
	a_qp.srq = &srq;
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	for (uint64_t wr_id = 1; wr_id <= 2; wr_id++)
		story_post(&s, 0, VERB_post_srq_recv, &srq, wr_id, 0,
			   (struct event_sge){ 0x1000 * wr_id, 64, 0x10 });
	poll_receive(&s, 0, 1);
	destroy_qp(&s, 0);
	poll_receive(&s, 0, 2);
	a_qp.srq = NULL;
	story_tells(&s, RULE_LIFE_005, "A completion of qp1 (number 0x21), wr_id 0x2, was polled ");
}

/* The poll of the other thread may have begun before the destroy. */
TEST(another_thread_polls_during_the_destroy)
{
	struct story s;
	int other;

	begin_with(&s, cap, cap);
	other = story_thread(&s, STORY_PID, 0, 0);
	post_sends(&s, 7, 1, IBV_SEND_SIGNALED);
	destroy_qp(&s, 0);
	story_poll(&s, other, &a_cq, 7, IBV_WC_SUCCESS, a_qp.qp_num);
	story_finds_nothing(&s);
}

TEST(a_number_comes_back_with_a_completion)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 7, 1, IBV_SEND_SIGNALED);
	destroy_qp(&s, 0);
	create_roomy(&s, cap, cap);
	poll_sends(&s, 7, 1);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_006);
	assert_string_equal(f->object, "qp2");
	assert_non_null(strstr(f->says, "qp1 had this number before"));
	story_end(&s);
}

TEST(a_number_comes_back_after_all_was_polled)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 7, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 7, 1);
	destroy_qp(&s, 0);
	create_roomy(&s, cap, cap);
	post_sends(&s, 8, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 8, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

/* The device has removed it, as most do. */
TEST(a_number_comes_back_without_a_completion)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 7, 1, IBV_SEND_SIGNALED);
	destroy_qp(&s, 0);
	create_roomy(&s, cap, cap);
	post_sends(&s, 7, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 7, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

/* @turns queue pairs take @n receives of a pool with them, from buffer turn * @step on. */
static void lose_receives(struct story *s, uint64_t turns, uint64_t step)
{
	story_with_cq(s);
	a_mr.addr = (void *)0x1000;
	reg_mr(s, &a_mr);
	for (uint64_t turn = 0; turn < turns; turn++) {
		create_roomy(s, cap, cap);
		post_list(s, 0,
			  &(struct posted){ .verb = VERB_post_recv,
					    .wr_id = 1,
					    .n = ROOM,
					    .buffer = 1 + turn * step });
		destroy_qp(s, 0);
	}
}

static void end_pool(struct story *s)
{
	dereg_mr(s, &a_mr, 0);
	destroy_cq(s, 0);
	dealloc_pd(s, 0);
	close_context(s);
	story_exit(s, STORY_PID, 0);
}

TEST(queue_pairs_take_the_buffers_of_a_pool_with_them)
{
	struct story s;

	lose_receives(&s, 3, ROOM);
	end_pool(&s);
	story_warns(&s, RULE_COMPL_002,
		    "3 queue pairs, qp1 the first, were destroyed with receives outstanding, and "
		    "their completions were never polled: 12 buffers of mr1 were not posted "
		    "again, while newer queue pairs posted 8 others.");
}

/* Nobody deregisters the pool. */
TEST(a_process_ends_with_buffers_lost)
{
	const struct finding *f = NULL;
	struct story s;

	lose_receives(&s, 3, ROOM);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_COMPL_002], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_COMPL_002)
			f = s.findings->all[i];
	assert_string_equal(f->object, "mr1");
	story_end(&s);
}

TEST(two_queue_pairs_may_be_the_end_of_a_program)
{
	struct story s;

	lose_receives(&s, 2, ROOM);
	end_pool(&s);
	story_finds_nothing(&s);
}

TEST(the_buffers_are_posted_again)
{
	struct story s;

	lose_receives(&s, 4, 0);
	end_pool(&s);
	story_finds_nothing(&s);
}

/* A queue pair in RTS is destroyed with a send that has @flags; a poll or an answer before. */
static uint64_t count_destroy_hazards(uint32_t flags, bool polled, bool answered)
{
	struct story s;
	uint64_t n;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 1, .n = 1 });
	post_sends(&s, 7, 1, flags);
	if (polled)
		poll_sends(&s, 7, 1);
	if (answered)
		poll_receive(&s, 0, 1);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_002], 0);
	n = s.findings->hazards[RULE_COMPL_002];
	story_end(&s);
	return n;
}

TEST(a_send_that_was_not_polled_may_not_be_done)
{
	assert_int_equal(count_destroy_hazards(IBV_SEND_SIGNALED, false, false), 1);
	assert_int_equal(count_destroy_hazards(IBV_SEND_SIGNALED, true, false), 0);
	assert_int_equal(count_destroy_hazards(IBV_SEND_SIGNALED, false, true), 0); /* its answer */
	assert_int_equal(count_destroy_hazards(0, false, false), 0);
}

TEST(a_send_that_was_not_polled_is_named)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 7, 2, IBV_SEND_SIGNALED);
	end_well(&s);
	story_warns(&s, RULE_COMPL_002,
		    "qp1 (number 0x21) was destroyed with 2 signalled sends outstanding, the last "
		    "posted at 1:10, 1000 ns earlier: their completions were not polled.");
}

/* The same sends where the queue pair goes to @state. */
static void goes_to(enum ibv_qp_state state, bool polled, const char *says)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 7, 2, IBV_SEND_SIGNALED);
	if (polled)
		poll_sends(&s, 7, 2);
	story_do(&s, 0, VERB_modify_qp, 30, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE));
	if (says)
		story_warns(&s, RULE_COMPL_002, says);
	else
		story_finds_nothing(&s);
}

TEST(a_reset_removes_what_was_not_polled)
{
	goes_to(IBV_QPS_RESET, false,
		"qp1 (number 0x21) went from RTS to RESET with 2 signalled sends outstanding, the "
		"last posted at 1:10, 1000 ns earlier: their completions were not polled, and "
		"RESET removes them.");
	goes_to(IBV_QPS_RESET, true, NULL);
	goes_to(IBV_QPS_SQD, false, NULL);
}

/* Requests of 64 bytes with numbers and places of their own, or those of another. */

static struct ibv_qp_cap deep = { 16, 16, 1, 1, 16 };

static void post_number(struct story *s, uint64_t wr_id, uint64_t place)
{
	post_list(s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = wr_id,
				    .n = 1,
				    .flags = IBV_SEND_SIGNALED,
				    .buffer = place });
}

/* @n requests; number @from is given to the one behind it, too, which is @apart places behind. */
static void give_twice(struct story *s, uint64_t n, uint64_t from, uint64_t apart)
{
	begin_with(s, deep, deep);
	for (uint64_t i = 1; i <= n; i++)
		post_number(s, i == from + 1 ? from : i, i <= from ? i : i + apart);
	end_well(s);
}

TEST(one_number_of_few_is_given_to_two_requests)
{
	struct story s;

	give_twice(&s, 8, 5, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_COMPL_006], 1);
	assert_int_equal(s.findings->rules[RULE_COMPL_006], 0);
	story_end(&s);
}

static uint64_t count_once(struct story *s)
{
	uint64_t n;

	story_check(s, NULL);
	n = s->findings->hazards[RULE_COMPL_006];
	story_end(s);
	return n;
}

TEST(one_number_is_used_twice_in_two_places)
{
	struct story s;

	give_twice(&s, 8, 5, 7);
	assert_int_equal(count_once(&s), 1);
}

/* Too few to tell whether they are numbers at all. */
TEST(numbers_that_are_few)
{
	struct story s;

	give_twice(&s, 7, 5, 0);
	assert_int_equal(count_once(&s), 0);
	give_twice(&s, 8, 4, 0);
	assert_int_equal(count_once(&s), 0);
}

TEST(two_numbers_that_are_used_twice)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 1; i <= 10; i++)
		post_number(&s, i == 7 ? 6 : i == 9 ? 8 : i, i);
	end_well(&s);
	assert_int_equal(count_once(&s), 0);
}

/* Two of them happen to have the same. */
TEST(numbers_that_are_lengths_of_few)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 1; i <= 8; i++) {
		uint64_t length = 64 + (i == 6 ? 5 : i);

		post_list(&s, 0,
			  &(struct posted){ .verb = VERB_post_send,
					    .wr_id = length,
					    .n = 1,
					    .flags = IBV_SEND_SIGNALED,
					    .length = (uint32_t)length,
					    .buffer = 20 * i });
	}
	end_well(&s);
	assert_int_equal(count_once(&s), 0);
}

/* The other messages are separate: these two parts are one message. */
TEST(a_message_in_two_parts_has_one_number)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 1; i <= 8; i++)
		post_number(&s, i == 6 ? 5 : i, i == 6 ? 51 : 10 * i + 1 - (i == 5));
	end_well(&s);
	assert_int_equal(count_once(&s), 0);
}

TEST(a_list_may_have_one_number)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 1; i <= 5; i++)
		post_number(&s, i, 2 * i);
	post_list(&s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 7,
				    .n = 2,
				    .flags = IBV_SEND_SIGNALED,
				    .same = true });
	post_number(&s, 9, 30);
	end_well(&s);
	assert_int_equal(count_once(&s), 0);
}

/* Each is polled before its number is used again. */
TEST(numbers_that_are_used_again)
{
	struct story s;

	begin_with(&s, deep, deep);
	for (uint64_t i = 1; i <= 8; i++)
		post_number(&s, i, i);
	poll_sends(&s, 1, 8);
	for (uint64_t i = 1; i <= 8; i++)
		post_number(&s, i, i);
	end_well(&s);
	assert_int_equal(count_once(&s), 0);
}

static void post_flagged(struct story *s, int opcode, uint16_t flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge sge = { 0x7000, 64, ends[0].mr.lkey };

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 1, .opcode = (uint8_t)opcode, .flags = (uint8_t)flags, .nsge = 1
	};
	memcpy(wr + 1, &sge, sizeof(sge));
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(sge)) / 8);
}

static void poll_by(struct story *s, int thread, const void *cq, uint32_t number)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = 1;
	wc->opcode = IBV_WC_RECV;
	wc->qp_num = number;
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* A send of process 1 without a completion, which process 2 receives; and then a sleep. */
struct unsure {
	int opcode;
	uint16_t flags; /* of a second send */
	bool second, received, answered, killed;
	int64_t sleep;
};

static uint64_t count_unsure(struct unsure unsure)
{
	struct story s;
	uint64_t n;

	begin_story(&s);
	for (int end = 0; end < 2; end++)
		story_post(&s, end, VERB_post_recv, &ends[end].qp, 1, 0,
			   (struct event_sge){ 0x7000, 64, ends[end].mr.lkey });
	post_flagged(&s, unsure.opcode, 0);
	if (unsure.second)
		post_flagged(&s, unsure.opcode, unsure.flags);
	if (unsure.received)
		poll_by(&s, 1, &ends[1].cq, ends[1].qp.qp_num);
	if (unsure.answered)
		story_post(&s, 1, VERB_post_send, &ends[1].qp, 1, IBV_WR_RDMA_WRITE,
			   (struct event_sge){ 0x7000, 64, ends[1].mr.lkey });
	s.now += (uint64_t)unsure.sleep;
	if (!unsure.killed)
		story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_COMPL_002];
	if (n)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_002)->says,
				       "was destroyed with 1 send outstanding, the last posted at "
				       "1:21, "));
	story_end(&s);
	return n;
}

/* A signalled send, whose completion is not polled; @received: the peer polls its receive. */
static uint64_t count_unpolled_of(int opcode, bool received)
{
	struct story s;
	uint64_t n;

	begin_story(&s);
	story_post(&s, 1, VERB_post_recv, &ends[1].qp, 1, 0,
		   (struct event_sge){ 0x7000, 64, ends[1].mr.lkey });
	post_flagged(&s, opcode, IBV_SEND_SIGNALED);
	if (received)
		poll_by(&s, 1, &ends[1].cq, ends[1].qp.qp_num);
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_COMPL_002];
	if (n)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_002)->says,
				       ": its completion was not polled."));
	story_end(&s);
	return n;
}

TEST(the_peer_has_what_it_received)
{
	assert_int_equal(count_unpolled_of(IBV_WR_SEND, false), 1);
	assert_int_equal(count_unpolled_of(IBV_WR_SEND, true), 0);
}

enum { LONG_SLEEP = 50000000 };

TEST(nothing_shows_that_an_unsignalled_send_is_done)
{
	assert_int_equal(count_unsure((struct unsure){ .opcode = IBV_WR_SEND }), 1);
	assert_int_equal(count_unsure((struct unsure){
				 .opcode = IBV_WR_SEND, .received = true, .sleep = LONG_SLEEP }),
			 1);
	assert_int_equal(
		count_unsure((struct unsure){ .opcode = IBV_WR_RDMA_WRITE, .sleep = LONG_SLEEP }),
		1);
}

TEST(an_unsignalled_send_is_known_to_be_done)
{
	/* the peer may have replied on a socket */
	assert_int_equal(count_unsure((struct unsure){ .opcode = IBV_WR_SEND, .received = true }),
			 0);
	assert_int_equal(count_unsure((struct unsure){ .opcode = IBV_WR_RDMA_WRITE }), 0);
	/* its message may be the reply */
	assert_int_equal(count_unsure((struct unsure){ .opcode = IBV_WR_RDMA_WRITE,
						       .answered = true,
						       .sleep = LONG_SLEEP }),
			 0);
	assert_int_equal(count_unsure((struct unsure){ .opcode = IBV_WR_SEND, .killed = true }), 0);
}

static void get_event(struct story *s, enum ibv_event_type type, struct ibv_srq *srq)
{
	struct ibv_async_event event = { .event_type = type };

	if (srq)
		event.element.srq = srq;
	else
		event.element.qp = &a_qp;
	story_do(s, 0, VERB_get_async_event, 12, 0, W(&a_context), W(&event));
	story_do(s, 0, VERB_ack_async_event, 12, 0, W(&event));
}

/* A queue pair with an SRQ, of whose two receives a message took one. */
static void receive_by_srq(struct story *s, struct ibv_srq *srq, uint32_t limit)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq_attr armed = { .srq_limit = limit };
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = cap
	};

	*srq = (struct ibv_srq){ .context = &a_context, .pd = &a_pd };
	story_with_cq(s);
	story_do(s, 0, VERB_create_srq, 5, W(srq), W(&a_pd), W(&of_srq));
	a_qp.srq = srq;
	story_do(s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	for (uint64_t wr_id = 1; wr_id <= 2; wr_id++)
		story_post(s, 0, VERB_post_srq_recv, srq, wr_id, 0,
			   (struct event_sge){ 0x1000 * wr_id, 64, 0x10 });
	if (limit)
		story_do(s, 0, VERB_modify_srq, 6, 0, W(srq), W(&armed), W(IBV_SRQ_LIMIT));
	poll_receive(s, 0, 1);
}

static struct ibv_qp another_qp = { .context = &a_context, .qp_num = 0x99 };

static void share_srq(struct story *s, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .srq = srq, .qp_type = IBV_QPT_RC, .cap = cap
	};

	another_qp.pd = &a_pd;
	another_qp.srq = srq;
	story_do(s, 0, VERB_create_qp, 4, W(&another_qp), W(&a_pd), W(&attr));
}

static void end_srq(struct story *s, struct ibv_srq *srq)
{
	destroy_qp(s, 0);
	if (another_qp.srq)
		story_do(s, 0, VERB_destroy_qp, 8, 0, W(&another_qp));
	another_qp.srq = NULL;
	story_do(s, 0, VERB_destroy_srq, 7, 0, W(srq));
	a_qp.srq = NULL;
	destroy_cq(s, 0);
	dealloc_pd(s, 0);
	close_context(s);
	story_exit(s, STORY_PID, 0);
}

TEST(the_last_receive_of_an_srq_is_not_waited_for)
{
	struct ibv_srq srq;
	struct story s;

	receive_by_srq(&s, &srq, 0);
	share_srq(&s, &srq);
	put_into_err(&s);
	end_srq(&s, &srq);
	story_warns(&s, RULE_COMPL_002,
		    "qp1 (number 0x21) has an SRQ, was moved to ERR at 1:17, and destroyed before "
		    "IBV_EVENT_QP_LAST_WQE_REACHED was retrieved.");
	receive_by_srq(&s, &srq, 0);
	share_srq(&s, &srq);
	put_into_err(&s);
	get_event(&s, IBV_EVENT_QP_LAST_WQE_REACHED, NULL);
	end_srq(&s, &srq);
	story_finds_nothing(&s);
	receive_by_srq(&s, &srq, 0);
	share_srq(&s, &srq);
	end_srq(&s, &srq);
	story_finds_nothing(&s);
	receive_by_srq(&s, &srq, 0); /* no other queue pair needs the receives */
	put_into_err(&s);
	end_srq(&s, &srq);
	story_finds_nothing(&s);
}

TEST(the_event_of_a_limit_is_not_retrieved)
{
	struct ibv_srq srq;
	struct story s;

	receive_by_srq(&s, &srq, 1);
	poll_receive(&s, 0, 2);
	end_srq(&s, &srq);
	story_warns(&s, RULE_STATE_007,
		    "srq1 was left with 0 receives, and its srq_limit is 1: "
		    "IBV_EVENT_SRQ_LIMIT_REACHED came, and no ibv_get_async_event() retrieved it.");
	receive_by_srq(&s, &srq, 1);
	poll_receive(&s, 0, 2);
	get_event(&s, IBV_EVENT_SRQ_LIMIT_REACHED, &srq);
	end_srq(&s, &srq);
	story_finds_nothing(&s);
	receive_by_srq(&s, &srq, 1);
	end_srq(&s, &srq);
	story_finds_nothing(&s);
}

/* After the event of the limit, @receives are posted; the limit is armed again or not. */
static void post_after_event(struct story *s, struct ibv_srq *srq, uint64_t receives, bool again)
{
	struct ibv_srq_attr armed = { .srq_limit = 2 };

	receive_by_srq(s, srq, 0);
	for (uint64_t wr_id = 3; wr_id <= 4; wr_id++)
		story_post(s, 0, VERB_post_srq_recv, srq, wr_id, 0,
			   (struct event_sge){ 0x1000 * wr_id, 64, 0x10 });
	story_do(s, 0, VERB_modify_srq, 6, 0, W(srq), W(&armed), W(IBV_SRQ_LIMIT));
	poll_receive(s, 0, 2);
	poll_receive(s, 0, 3);
	get_event(s, IBV_EVENT_SRQ_LIMIT_REACHED, srq);
	for (uint64_t wr_id = 5; wr_id < 5 + receives; wr_id++)
		story_post(s, 0, VERB_post_srq_recv, srq, wr_id, 0,
			   (struct event_sge){ 0x1000 * wr_id, 64, 0x10 });
	if (again)
		story_do(s, 0, VERB_modify_srq, 6, 0, W(srq), W(&armed), W(IBV_SRQ_LIMIT));
	poll_receive(s, 0, 4);
	for (uint64_t wr_id = 5; wr_id < 4 + receives; wr_id++)
		poll_receive(s, 0, wr_id);
	end_srq(s, srq);
}

TEST(a_limit_is_not_armed_again)
{
	struct ibv_srq srq;
	struct story s;

	post_after_event(&s, &srq, 2, false);
	story_warns(&s, RULE_STATE_007,
		    "srq1 was left with 1 receive, and its srq_limit was 2: it was armed last at "
		    "1:17, its event was retrieved at 1:21, 2 receives were posted then, and no "
		    "ibv_modify_srq() armed it again.");
	post_after_event(&s, &srq, 2, true);
	story_finds_nothing(&s);
	post_after_event(&s, &srq, 1, false); /* it may end */
	story_finds_nothing(&s);
}

/* The SRQ serves one queue pair after the other, and needs the receives of each. */
static uint64_t serve_two(bool served)
{
	struct ibv_srq srq;
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .srq = &srq, .qp_type = IBV_QPT_RC, .cap = cap
	};
	struct story s;
	uint64_t found;

	receive_by_srq(&s, &srq, 0);
	if (served)
		put_into_err(&s);
	destroy_qp(&s, 0);
	a_qp.srq = &srq;
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	poll_receive(&s, 0, 2);
	put_into_err(&s);
	end_srq(&s, &srq);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_COMPL_002];
	if (found)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_002)->says,
				       "qp2 (number 0x21) has an SRQ, was moved to ERR at 1:"));
	story_end(&s);
	return found;
}

TEST(the_last_receive_is_not_waited_for_by_each_of_several)
{
	assert_int_equal(serve_two(true), 1);
	assert_int_equal(serve_two(false), 0);
}

static struct rdma_event_channel cm_channel = { .fd = 7 };
static struct rdma_cm_id an_id = { .channel = &cm_channel };

/* Two connected processes; the queue pair of the first is that of an identifier. */
static void begin_connection(struct story *s)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct rdma_cm_id *id = &an_id;
	struct story_call call;

	fill_end(&ends[0], 0x21, 0x10);
	fill_end(&ends[1], 0x22, 0x20);
	story_begin(s);
	assert_int_equal(story_thread(s, PEER, 0, 0), 1);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&cm_channel));
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&cm_channel), W(&id), W(0), W(RDMA_PS_TCP));
	call = story_call(s, 0, VERB_rdma_create_qp, 26, W(id), W(&ends[0].pd), W(&attr));
	make_end(s, 0);
	story_return(s, &call, 0);
	make_end(s, 1);
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
}

static void disconnect_end(struct story *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct story_call call = story_call(s, 0, VERB_rdma_disconnect, 27, W(&an_id));

	story_do(s, 0, VERB_modify_qp, 32, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	story_return(s, &call, 0);
}

static uint64_t count_disconnect_hazards(bool polled, int status)
{
	const struct event_sge sge = { AT, 8, 0x10 };
	struct story s;
	uint64_t n;

	begin_connection(&s);
	story_post(&s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND, sge);
	if (polled && !status)
		poll_as(&s, status);
	disconnect_end(&s);
	if (polled && status)
		poll_as(&s, status);
	story_do(&s, 0, VERB_destroy_qp, 33, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_COMPL_002];
	story_end(&s);
	return n;
}

TEST(a_connection_is_ended_with_a_send_that_was_not_polled)
{
	assert_int_equal(count_disconnect_hazards(false, 0), 1);
	assert_int_equal(count_disconnect_hazards(true, IBV_WC_SUCCESS), 0);
	assert_int_equal(count_disconnect_hazards(true, IBV_WC_WR_FLUSH_ERR), 0);
}
