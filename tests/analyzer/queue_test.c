/* The rules of analyzer/rules/queue.c over stored traces. */
#include <errno.h>

#include "tests/analyzer/posted.h"
#include "tests/test.h"

TEST(a_full_send_queue_stops_the_program)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM - 1, 0);
	post_sends(&s, ROOM - 1, 1, IBV_SEND_SIGNALED);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_001);
	assert_non_null(strstr(f->says, "4 of 4 outstanding, 1 of them signalled. wr[0], wr_id "
					"0x9, was refused"));
	assert_int_equal(f->event.n, 12);
	story_end(&s);
}

static void arm_cq(struct story *s)
{
	struct event_notify *event = (struct event_notify *)s->words;

	event->cq = W(&a_cq);
	story_event(s, 0, EVENT_NOTIFY, sizeof(*event) / 8);
}

/* A send queue is full, after an event of its CQ, which was armed @arms times. */
static void fill_after_event(struct story *s, int arms, int polls)
{
	static struct ibv_comp_channel channel = { .context = &a_context };
	static struct ibv_cq *got = &a_cq;
	static void *context;

	story_begin(s);
	open_context(s);
	alloc_pd(s);
	story_do(s, 0, VERB_create_comp_channel, 3, W(&channel), W(&a_context));
	a_cq.channel = &channel;
	create_cq(s);
	create_roomy(s, cap, cap);
	for (int i = 0; i < arms; i++)
		arm_cq(s);
	post_sends(s, 0, (uint32_t)polls, IBV_SEND_SIGNALED);
	story_do(s, 0, VERB_get_cq_event, 12, 0, W(&channel), W(&got), W(&context));
	story_do(s, 0, VERB_ack_cq_events, 13, 0, W(&a_cq), W(1));
	poll_sends(s, 0, polls - 1);
	post_sends(s, (uint64_t)polls, ROOM - 1, IBV_SEND_SIGNALED);
	refuse_send(s, 9, IBV_SEND_SIGNALED, ENOMEM);
	destroy_qp(s, 0);
	destroy_cq(s, 0);
	a_cq.channel = NULL;
	story_do(s, 0, VERB_destroy_comp_channel, 14, 0, W(&channel));
	dealloc_pd(s, 0);
	close_context(s);
	story_exit(s, STORY_PID, 0);
	story_check(s, NULL);
}

static bool is_said_to_be_unpolled(int arms, int polls)
{
	const struct finding *f;
	struct story s;
	bool said;

	fill_after_event(&s, arms, polls);
	f = story_only(&s, RULE_QUEUE_001);
	said = strstr(f->says, "Completions were in cq1: its event was retrieved at 1:14, 5000 ns "
			       "earlier, and it was not polled since.");
	assert_int_equal(said, !!strstr(finding_advice(f), "until it is empty"));
	story_end(&s);
	return said;
}

TEST(a_full_send_queue_whose_event_was_not_followed_by_a_poll)
{
	assert_true(is_said_to_be_unpolled(1, 1));
	assert_false(is_said_to_be_unpolled(2, 1)); /* the event of an earlier completion? */
	assert_false(is_said_to_be_unpolled(1, 2)); /* it was polled */
}

/* As all programs do that wait for room. */
TEST(a_refused_request_is_posted_after_a_completion)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	poll_sends(&s, 0, 1);
	post_sends(&s, 9, 1, IBV_SEND_SIGNALED);
	refuse_send(&s, 10, IBV_SEND_SIGNALED,
		    ENOMEM); /* at the end the program posts nothing more */
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_program_that_polls_after_a_refusal_knows_what_it_does)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	poll_sends(&s, 0, ROOM);
	end_well(&s);
	story_finds_nothing(&s);
}

/* A full queue refuses these two, and then has room for more. */
static void refuse_two(struct story *s, uint64_t first, uint64_t second)
{
	begin_with(s, cap, cap);
	post_sends(s, 0, ROOM, IBV_SEND_SIGNALED);
	refuse_send(s, first, IBV_SEND_SIGNALED, ENOMEM);
	refuse_send(s, second, IBV_SEND_SIGNALED, ENOMEM);
	poll_sends(s, 0, ROOM);
}

TEST(a_program_that_does_not_look_at_what_posts_return)
{
	struct story s;

	refuse_two(&s, 9, 10);
	end_well(&s);
	story_warns(&s, RULE_QUEUE_006,
		    "4 of 4 were outstanding, and 2 sends in a row were refused with ENOMEM, the "
		    "first wr_id 0x9. None was posted again, although 4 have completed since.");
}

/* ibv_wr_complete() refuses a list as a whole, if there is room for less than that. */
static void refuse_list(struct story *s, uint64_t first)
{
	const struct posted list = { .verb = VERB_wr_complete,
				     .wr_id = first,
				     .n = 2,
				     .flags = IBV_SEND_SIGNALED,
				     .ret = ENOMEM };

	post_list(s, 0, &list);
}

TEST(lists_of_which_nobody_sees_that_they_were_refused)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM - 1, IBV_SEND_SIGNALED);
	refuse_list(&s, 9);
	refuse_list(&s, 11);
	poll_sends(&s, 0, ROOM - 1);
	end_well(&s);
	story_warns(&s, RULE_QUEUE_006,
		    "3 of 4 were outstanding, and 2 lists in a row were refused with ENOMEM, the "
		    "first wr_id 0x9. None was posted again, although 3 have completed since.");
}

TEST(a_list_that_stops_the_program)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM - 1, IBV_SEND_SIGNALED);
	refuse_list(&s, 9);
	end_well(&s);
	story_tells(&s, RULE_QUEUE_001,
		    "3 of 4 outstanding, 3 of them signalled. wr[0..1], wr_id 0x9 first, was "
		    "refused with ENOMEM and never posted again");
}

/* A signalled request would fit, and complete. */
TEST(a_refused_list_of_a_queue_without_signalled_requests_is_not_final)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM - 1, 0);
	refuse_list(&s, 9);
	post_sends(&s, 9, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 9, 1);
	post_sends(&s, 10, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 10, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(one_request_that_is_tried_twice)
{
	struct story s;

	refuse_two(&s, 9, 9);
	end_well(&s);
	story_finds_nothing(&s);
}

/* Each try has a number of its own, but it is one buffer. */
TEST(one_request_that_is_tried_with_two_numbers)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	for (uint64_t i = 9; i < 12; i++)
		post_list(&s, 0,
			  &(struct posted){ .verb = VERB_post_send,
					    .wr_id = i,
					    .n = 1,
					    .flags = IBV_SEND_SIGNALED,
					    .buffer = 50,
					    .ret = ENOMEM,
					    .bad = 1 });
	poll_sends(&s, 0, ROOM);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(refused_requests_that_are_posted_in_another_order)
{
	struct story s;

	refuse_two(&s, 9, 10);
	post_sends(&s, 10, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 10, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

/* A program that stores refused requests may post others first; not forever. */
TEST(refused_requests_are_not_among_many_later_ones)
{
	struct story s;

	for (uint64_t n = 1; n <= 100; n += 99) {
		refuse_two(&s, 9, 10);
		for (uint64_t i = 100; i < 100 + n; i++) {
			post_sends(&s, i, 1, IBV_SEND_SIGNALED);
			poll_sends(&s, i, 1);
		}
		end_well(&s);
		if (n == 1)
			story_finds_nothing(&s);
		else
			story_warns(&s, RULE_QUEUE_006, "although 104 have completed since");
	}
}

/* One completion retires the unsignalled requests before it. */
TEST(a_later_completion_frees_all_places)
{
	struct story s;

	begin_with(&s, cap, cap);
	for (uint64_t i = 0; i < 10; i++) {
		post_sends(&s, ROOM * i, ROOM - 1, 0);
		post_sends(&s, ROOM * i + ROOM - 1, 1, IBV_SEND_SIGNALED);
		poll_sends(&s, ROOM * i + ROOM - 1, 1);
	}
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_device_may_give_more_than_was_asked_for)
{
	struct ibv_qp_cap given = { 2 * ROOM, 2 * ROOM, 4, 4, 64 };
	struct story s;

	begin_with(&s, cap, given);
	post_sends(&s, 0, 2 * ROOM, IBV_SEND_SIGNALED);
	poll_sends(&s, 0, 2 * ROOM);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(more_than_the_device_gave_is_too_much)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	post_sends(&s, ROOM, 2, IBV_SEND_SIGNALED);
	end_well(&s);
	story_tells(&s, RULE_QUEUE_001,
		    "4 slots in its send queue, but 6 requests were outstanding");
}

/* Completions may have been polled. */
TEST(polls_that_are_not_seen_make_numbers_uncertain)
{
	struct event_blind *blind;
	struct story s;

	begin_with(&s, cap, cap);
	blind = (struct event_blind *)s.words;
	blind->what = BLIND_EXTENDED_CQ;
	blind->object = W(&a_cq);
	story_event(&s, 0, EVENT_BLIND, sizeof(*blind) / 8);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	post_sends(&s, ROOM, 2, IBV_SEND_SIGNALED);
	end_well(&s);
	story_finds_nothing(&s);
}

/* A poll of another thread may be late in the trace: the numbers are not certain. */
TEST(two_threads_make_numbers_uncertain)
{
	struct story s;
	int other;

	begin_with(&s, cap, cap);
	other = story_thread(&s, STORY_PID, 0, 0);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	story_poll(&s, other, &a_cq, 0, IBV_WC_SUCCESS, a_qp.qp_num);
	post_sends(&s, ROOM, 2, IBV_SEND_SIGNALED);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_stray_completion_makes_numbers_uncertain)
{
	struct story s;

	begin_with(&s, cap, cap);
	poll_sends(&s, 77, 1);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	post_sends(&s, ROOM, 2, IBV_SEND_SIGNALED);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_QUEUE_001], 0);
	story_end(&s);
}

TEST(a_full_receive_queue_stops_the_program)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = ROOM });
	post_list(&s, 0,
		  &(struct posted){
			  .verb = VERB_post_recv, .wr_id = 9, .n = 1, .ret = ENOMEM, .bad = 1 });
	end_well(&s);
	story_tells(&s, RULE_QUEUE_002, "4 of 4 receives outstanding");
}

/* Some programs fill a queue until it accepts no more. */
TEST(more_receives_than_there_is_room_for_at_the_beginning)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = ROOM });
	for (uint64_t i = 9; i < 40; i++)
		post_list(&s, 0,
			  &(struct posted){ .verb = VERB_post_recv,
					    .wr_id = i,
					    .n = 1,
					    .ret = ENOMEM,
					    .bad = 1 });
	poll_receive(&s, 0, 0);
	end_well(&s);
	story_warns(&s, RULE_QUEUE_002, "and 31 receives in a row were refused with ENOMEM");
}

TEST(receives_until_the_queue_is_full)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = ROOM });
	post_list(&s, 0,
		  &(struct posted){
			  .verb = VERB_post_recv, .wr_id = 9, .n = 1, .ret = ENOMEM, .bad = 1 });
	post_sends(&s, 20, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 20, 1);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 9, .n = 1 });
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_QUEUE_006], 0);
	story_end(&s);
}

TEST(a_cq_is_smaller_than_what_completes_there)
{
	struct ibv_qp_cap large = { 16, 16, 1, 1, 0 };
	const struct finding *f;
	struct story s;

	begin_with(&s, large, large);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = 16 });
	post_sends(&s, 100, 2, IBV_SEND_SIGNALED);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_003);
	assert_string_equal(f->object, "cq1");
	assert_non_null(strstr(f->says, "cq1 has 16 entries, and with this post 18 requests"));
	story_end(&s);
}

/* What the device gives then is not recorded. */
TEST(a_cq_is_resized_to_less_than_what_completes_there)
{
	struct ibv_qp_cap large = { 16, 16, 1, 1, 0 };
	struct story s;

	for (uint64_t cqe = 4; cqe <= 5; cqe++) {
		begin_with(&s, large, large);
		story_do(&s, 0, VERB_resize_cq, 34, 0, W(&a_cq), cqe);
		post_sends(&s, 100, 5, IBV_SEND_SIGNALED);
		poll_sends(&s, 100, 5);
		end_well(&s);
		if (cqe == 5)
			story_finds_nothing(&s);
		else
			story_warns(&s, RULE_QUEUE_003,
				    "cq1 was resized to 4 entries, and later 5 requests of 2 "
				    "queues that complete in it were outstanding");
	}
}

TEST(a_cq_that_is_just_large_enough)
{
	struct ibv_qp_cap large = { 16, 16, 1, 1, 0 };
	struct story s;

	begin_with(&s, large, large);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = 15 });
	for (uint64_t i = 0; i < 4; i++) {
		post_sends(&s, 100 + i, 1, IBV_SEND_SIGNALED);
		poll_sends(&s, 100 + i, 1);
	}
	end_well(&s);
	story_finds_nothing(&s);
}

/* The queues take 32 requests. */
TEST(a_cq_was_nearly_full)
{
	struct ibv_qp_cap large = { 16, 16, 1, 1, 0 };
	struct story s;

	for (unsigned int n = 11; n <= 12; n++) {
		begin_with(&s, large, large);
		post_list(&s, 0,
			  &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = n - 1 });
		post_sends(&s, 100, 1, IBV_SEND_SIGNALED);
		poll_sends(&s, 100, 1);
		end_well(&s);
		if (n < 12)
			story_finds_nothing(&s);
		else
			story_warns(&s, RULE_QUEUE_003,
				    "cq1 has 16 entries; up to 12 requests that complete in it "
				    "were outstanding, and the queues in use can hold 32.");
	}
}

/* The receive queue takes 16 requests, but was not used. */
TEST(a_cq_is_large_enough_for_the_queue_that_is_used)
{
	struct ibv_qp_cap large = { 16, 16, 1, 1, 0 };
	struct story s;

	begin_with(&s, large, large);
	post_sends(&s, 100, 14, IBV_SEND_SIGNALED);
	poll_sends(&s, 100, 14);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_cq_that_failed_says_what_it_holds)
{
	struct ibv_async_event overrun = { .element.cq = &a_cq, .event_type = IBV_EVENT_CQ_ERR };
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = 3 });
	story_do(&s, 0, VERB_get_async_event, 34, 0, W(&a_context), W(&overrun));
	story_do(&s, 0, VERB_ack_async_event, 35, 0, W(&overrun));
	end_well(&s);
	story_tells(&s, RULE_QUEUE_003,
		    "cq1 failed: IBV_EVENT_CQ_ERR. It has 16 entries, and up to 3 ");
}

TEST(a_queue_full_of_unsignalled_requests)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, 0);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	end_well(&s);
	story_tells(&s, RULE_QUEUE_004, "4 of 4 outstanding, 0 of them signalled");
}

TEST(a_program_that_waits_for_an_unsignalled_request_is_killed)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, 0);
	story_exit(&s, STORY_PID, 9);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_004);
	assert_int_equal(f->event.n, 10);
	story_end(&s);
}

/* The program may never post another request. */
TEST(a_queue_is_filled_once_without_signals)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, 0);
	end_well(&s);
	story_warns(&s, RULE_QUEUE_004,
		    "qp1 (number 0x21): the last 4 requests were unsignalled, and its send queue "
		    "holds 4.");
}

TEST(a_queue_that_is_nearly_filled_without_signals)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM - 1, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

static struct ibv_qp_cap sixteen = { 16, 1, 1, 1, 0 };

/* A program that never signals fills it sooner or later. */
TEST(half_a_queue_of_a_program_that_never_signals)
{
	struct story s;

	begin_with(&s, sixteen, sixteen);
	post_sends(&s, 0, 8, 0);
	end_well(&s);
	story_warns(&s, RULE_QUEUE_004,
		    "the last 8 requests were unsignalled, and its send queue "
		    "holds 16.");
	begin_with(&s, sixteen, sixteen);
	post_sends(&s, 0, 7, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

/* If the program continues like this, its queue will be full one day. */
TEST(a_few_requests_of_a_program_that_never_signals_for_a_minute)
{
	struct ibv_qp_cap deep = { 64, 64, 1, 1, 16 };
	struct story s;

	for (uint64_t gap = 8; gap <= 9; gap++) {
		begin_with(&s, deep, deep);
		for (uint64_t i = 0; i < 8; i++) {
			post_sends(&s, i, 1, 0);
			s.now += gap * 1000000000;
		}
		end_well(&s);
		if (gap == 8)
			story_finds_nothing(&s);
		else
			story_warns(
				&s, RULE_QUEUE_004,
				"the last 8 requests were unsignalled, and its send queue holds "
				"64.");
	}
}

TEST(half_a_queue_of_a_program_that_has_signalled)
{
	struct story s;

	begin_with(&s, sixteen, sixteen);
	post_sends(&s, 100, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 100, 1);
	post_sends(&s, 0, 15, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(too_many_elements_are_refused)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 0,
				    .n = 1,
				    .flags = IBV_SEND_SIGNALED,
				    .nsge = 3,
				    .ret = EINVAL,
				    .bad = 1 });
	end_well(&s);
	story_tells(&s, RULE_QUEUE_005, "wr[0] has 3 SGEs; qp1 (number 0x21) supports 1");
}

/* The program ignores the result, and polls for the last one. */
TEST(the_requests_after_the_refused_one_were_not_posted)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 0,
				    .n = 3,
				    .flags = IBV_SEND_SIGNALED,
				    .nsge = 3,
				    .ret = EINVAL,
				    .bad = 1 });
	end_well(&s);
	story_check(&s, NULL);
	assert_non_null(strstr(s.findings->all[0]->says,
			       "(cap.max_send_sge). The post ended there: 2 requests after it were "
			       "not posted either."));
	story_end(&s);
}

TEST(too_many_inline_bytes)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 0,
				    .n = 1,
				    .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				    .length = 17 });
	end_well(&s);
	story_tells(&s, RULE_QUEUE_005, "wr[0] has 17 inline bytes; qp1 (number 0x21) supports 16");
}

/* 0 is a known number, also if it is the only one. */
TEST(inline_bytes_for_a_queue_without_room)
{
	struct ibv_qp_cap none = { 0, ROOM, 0, 1, 0 };
	struct story s;

	begin_with(&s, none, none);
	post_list(&s, 0,
		  &(struct posted){
			  .verb = VERB_post_send, .wr_id = 9, .n = 1, .flags = IBV_SEND_INLINE });
	end_well(&s);
	story_tells(&s, RULE_QUEUE_005, "has 64 inline bytes; qp1 (number 0x21) supports 0");
}

TEST(inline_bytes_as_many_as_the_device_gave)
{
	struct ibv_qp_cap given = { ROOM, ROOM, 1, 1, 64 };
	struct story s;

	begin_with(&s, cap, given);
	post_list(&s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 0,
				    .n = 1,
				    .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				    .length = 64 });
	poll_sends(&s, 0, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

static void post_half(struct story *s)
{
	post_sends(s, 0, ROOM - 2, IBV_SEND_SIGNALED);
	post_list(s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 0x10,
				    .n = 4,
				    .flags = IBV_SEND_SIGNALED,
				    .ret = ENOMEM,
				    .bad = 3 });
	poll_sends(s, 0, ROOM - 2);
	poll_sends(s, 0x10, 2);
}

TEST(a_list_is_posted_again_from_its_head)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_half(&s);
	post_sends(&s, 0x10, 4, IBV_SEND_SIGNALED);
	poll_sends(&s, 0x10, 4);
	end_well(&s);
	story_tells(&s, RULE_QUEUE_006,
		    "wr_id 0x10..0x11 were accepted at 1:11 and posted again "
		    "at 1:16.");
}

TEST(a_list_is_posted_on_from_what_was_refused)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_half(&s);
	post_sends(&s, 0x12, 2, IBV_SEND_SIGNALED);
	poll_sends(&s, 0x12, 2);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_refused_request_is_left_out)
{
	struct story s;

	begin_with(&s, cap, cap);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, EINVAL);
	post_sends(&s, 10, 2, IBV_SEND_SIGNALED);
	poll_sends(&s, 10, 2);
	end_well(&s);
	story_tells(&s, RULE_QUEUE_006,
		    "refused wr[0], wr_id 0x9, with EINVAL. It was never "
		    "posted again, and 2 other requests were.");
}

/* The same data with another number. */
TEST(a_refused_buffer_is_posted_again)
{
	struct story s;

	begin_with(&s, cap, cap);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, EINVAL);
	post_sends(&s, 10, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 10, 1);
	post_sends(&s, 9, 1, IBV_SEND_SIGNALED);
	poll_sends(&s, 9, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

/* Receives leak away */

static uint64_t posted_receives, polled_receives;

static void post_receives(struct story *s, uint32_t n)
{
	if (!n)
		return;
	post_list(s, 0,
		  &(struct posted){ .verb = VERB_post_recv, .wr_id = posted_receives, .n = n });
	posted_receives += n;
}

static void take_receive(struct story *s)
{
	poll_receive(s, 0, polled_receives++);
}

/*
 * For every @lost messages, up to the @until-th of 200, one buffer is not posted again; that of
 * the @again-th is posted late.
 */
static uint64_t leak_receives(uint32_t room, int lost, int until, int again)
{
	struct ibv_qp_cap wide = { room, room, 1, 1, 0 };
	struct story s;
	uint64_t found;

	posted_receives = polled_receives = 0;
	begin_with(&s, wide, wide);
	post_receives(&s, room);
	for (int i = 1; i <= 200; i++) {
		take_receive(&s);
		if (i % lost || i > until)
			post_receives(&s, i == again ? 2 : 1);
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_QUEUE_008];
	if (found)
		assert_non_null(strstr(s.findings->all[s.findings->n - 1]->says,
				       "fell from 32 to 16 within "));
	story_end(&s);
	return found;
}

TEST(receives_that_are_not_posted_again)
{
	assert_int_equal(leak_receives(32, 10, 160, 0), 1);
	assert_int_equal(leak_receives(32, 10, 150, 0), 0); /* 17 of 32 are left */
	assert_int_equal(leak_receives(32, 10, 160, 101),
			 0); /* one message was polled late: others may have been, too */
	assert_int_equal(leak_receives(8, 30, 120, 0), 0); /* too few to tell */
}

/* A program that knows how many messages are left posts no more than these. */
TEST(receives_that_are_consumed_at_the_end)
{
	struct ibv_qp_cap wide = { 16, 16, 1, 1, 0 };
	struct story s;

	posted_receives = polled_receives = 0;
	begin_with(&s, wide, wide);
	post_receives(&s, 16);
	for (int i = 1; i <= 200; i++) {
		take_receive(&s);
		post_receives(&s, i <= 184);
	}
	end_well(&s);
	story_finds_nothing(&s);
}

/* Unsignalled requests complete only if they are flushed. */
TEST(a_cq_that_is_too_small_for_unsignalled_requests_is_a_hazard)
{
	struct ibv_qp_cap large = { 64, 16, 1, 1, 0 };
	struct story s;

	for (unsigned int n = 15; n <= 16; n++) {
		begin_with(&s, large, large);
		post_sends(&s, 0, n, 0);
		post_sends(&s, 100, 1, IBV_SEND_SIGNALED);
		poll_sends(&s, 100, 1);
		end_well(&s);
		if (n == 15)
			story_finds_nothing(&s);
		else
			story_warns(&s, RULE_QUEUE_003,
				    "cq1 has 16 entries; up to 17 requests that can complete in it "
				    "were outstanding, but at most 1 of them were signalled.");
	}
}
