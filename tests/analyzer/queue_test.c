/* The rules of analyzer/rules/queue.c over stored traces. */
#include <errno.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { ROOM = 4 };

static struct ibv_qp_cap cap = { ROOM, ROOM, 1, 1, 16 };

/* A queue pair that was asked for @asked, and got @given. */
static void create_roomy(struct story *s, struct ibv_qp_cap asked, struct ibv_qp_cap given)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .cap = asked, .qp_type = IBV_QPT_RC
	};
	struct story_call call = story_call(s, 0, VERB_create_qp, 4, W(&a_pd), W(&attr));

	attr.cap = given;
	story_return(s, &call, W(&a_qp));
}

static void begin_story(struct story *s)
{
	story_begin(s);
	open_context(s);
	alloc_pd(s);
	create_cq(s);
}

static void begin_with(struct story *s, struct ibv_qp_cap asked, struct ibv_qp_cap given)
{
	begin_story(s);
	create_roomy(s, asked, given);
}

static void end_well(struct story *s)
{
	destroy_qp(s, 0);
	destroy_cq(s, 0);
	dealloc_pd(s, 0);
	close_context(s);
	story_exit(s, STORY_PID, 0);
}

/* What a post is made of; the rest is 0. */
struct posted {
	enum verb verb;
	uint64_t wr_id; /* of the first; the next ones follow */
	uint32_t n;
	uint32_t flags; /* of each */
	uint32_t nsge;  /* of each; 0 stands for 1 */
	uint32_t length;
	int ret;
	uint32_t bad; /* 1 + index */
};

static void post_list(struct story *s, int thread, const struct posted *p)
{
	struct event_post *event = (struct event_post *)s->words;
	uint64_t *at = (uint64_t *)(event + 1);

	event->object = W(&a_qp);
	event->verb = (unsigned int)p->verb & 0x1ff;
	event->nwr = (uint16_t)p->n;
	event->ret = p->ret & 0x1fff;
	event->bad = p->bad & 0x1ff;
	for (uint32_t i = 0; i < p->n; i++) {
		struct event_wr *wr = (struct event_wr *)at;

		wr->wr_id = p->wr_id + i;
		wr->opcode = IBV_WR_SEND;
		wr->flags = (uint8_t)(p->flags);
		wr->nsge = (uint8_t)(p->nsge ? p->nsge : 1);
		at += sizeof(*wr) / 8;
		for (uint32_t j = 0; j < wr->nsge; j++) {
			struct event_sge sge = { 0x1000 + 64 * wr->wr_id,
						 p->length ? p->length : 64, 0x10 };

			memcpy(at, &sge, sizeof(sge));
			at += sizeof(sge) / 8;
		}
	}
	story_event(s, thread, EVENT_POST, (size_t)(at - s->words));
}

static void post_sends(struct story *s, uint64_t wr_id, uint32_t n, uint32_t flags)
{
	post_list(
		s, 0,
		&(struct posted){ .verb = VERB_post_send, .wr_id = wr_id, .n = n, .flags = flags });
}

static void refuse_send(struct story *s, uint64_t wr_id, uint32_t flags, int error)
{
	post_list(s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = wr_id,
				    .n = 1,
				    .flags = flags,
				    .ret = error,
				    .bad = 1 });
}

static void poll_sends(struct story *s, uint64_t wr_id, int n)
{
	for (int i = 0; i < n; i++)
		story_poll(s, 0, &a_cq, wr_id + (uint64_t)i, IBV_WC_SUCCESS, a_qp.qp_num);
}

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

/* What every program does that waits for room. */
TEST(a_refused_request_is_posted_after_a_completion)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, IBV_SEND_SIGNALED);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	poll_sends(&s, 0, 1);
	post_sends(&s, 9, 1, IBV_SEND_SIGNALED);
	refuse_send(&s, 10, IBV_SEND_SIGNALED, ENOMEM); /* and at the end no more is needed */
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
	story_check(&s, NULL);
	assert_non_null(strstr(story_only(&s, RULE_QUEUE_001)->says,
			       "room for 4 requests in its send queue, and 6 were outstanding"));
	story_end(&s);
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
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = ROOM });
	post_list(&s, 0,
		  &(struct posted){
			  .verb = VERB_post_recv, .wr_id = 9, .n = 1, .ret = ENOMEM, .bad = 1 });
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_002);
	assert_non_null(strstr(f->says, "4 of 4 receives outstanding"));
	story_end(&s);
}

/* Some fill a queue until it takes no more. */
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
	assert_non_null(strstr(f->says, "cq1 holds 16 entries, and with this post 18 requests"));
	story_end(&s);
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

TEST(a_cq_that_failed_says_what_it_holds)
{
	struct ibv_async_event overrun = { .element.cq = &a_cq, .event_type = IBV_EVENT_CQ_ERR };
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = 0, .n = 3 });
	story_do(&s, 0, VERB_get_async_event, 34, 0, W(&a_context), W(&overrun));
	story_do(&s, 0, VERB_ack_async_event, 35, 0, W(&overrun));
	end_well(&s);
	story_check(&s, NULL);
	assert_non_null(strstr(story_only(&s, RULE_QUEUE_003)->says,
			       "cq1 failed: IBV_EVENT_CQ_ERR. It holds 16 entries, and up to 3 "));
	story_end(&s);
}

TEST(a_queue_full_of_unsignalled_requests)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, 0);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, ENOMEM);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_004);
	assert_non_null(strstr(f->says, "4 of 4 outstanding, 0 of them signalled"));
	story_end(&s);
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

/* It may never need another one. */
TEST(a_queue_is_filled_once_without_signals)
{
	struct story s;

	begin_with(&s, cap, cap);
	post_sends(&s, 0, ROOM, 0);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(too_many_elements_are_refused)
{
	const struct finding *f;
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
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_005);
	assert_non_null(strstr(f->says, "wr[0] has 3 SGEs; qp1 (number 0x21) takes 1"));
	story_end(&s);
}

TEST(too_many_inline_bytes)
{
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_list(&s, 0,
		  &(struct posted){ .verb = VERB_post_send,
				    .wr_id = 0,
				    .n = 1,
				    .flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				    .length = 17 });
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_005);
	assert_non_null(strstr(f->says, "wr[0] has 17 inline bytes; qp1 (number 0x21) takes 16"));
	story_end(&s);
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
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	post_half(&s);
	post_sends(&s, 0x10, 4, IBV_SEND_SIGNALED);
	poll_sends(&s, 0x10, 4);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_006);
	assert_non_null(strstr(f->says, "wr_id 0x10..0x11 were accepted at 1:11 and posted again "
					"at 1:16."));
	story_end(&s);
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
	const struct finding *f;
	struct story s;

	begin_with(&s, cap, cap);
	refuse_send(&s, 9, IBV_SEND_SIGNALED, EINVAL);
	post_sends(&s, 10, 2, IBV_SEND_SIGNALED);
	poll_sends(&s, 10, 2);
	end_well(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_QUEUE_006);
	assert_non_null(strstr(f->says, "refused wr[0], wr_id 0x9, with EINVAL. It was never "
					"posted again, and 2 other requests were."));
	story_end(&s);
}

/* The same data under another number. */
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
