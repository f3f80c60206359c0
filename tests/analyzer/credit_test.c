/* analyzer/model/credit.c, STATE-007: process 1 sends, and process 2 returns a credit for each. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

/* How process 2 handles a message. */
struct credits {
	uint64_t n;       /* messages */
	int window;       /* receives, and messages that process 1 sends without a credit */
	bool early;       /* it posts the receive before the credit */
	bool unasked;     /* process 1 does not wait for credits */
	bool other_sends; /* process 1 sends before it has polled the credit */
	bool writes;      /* process 1 writes before it has polled the credit */
};

static void receive_at(struct story *s, int thread)
{
	story_post(s, thread, VERB_post_recv, &ends[thread].qp, 1, 0,
		   (struct event_sge){ AT, 64, ends[thread].mr.lkey });
}

static void post_at(struct story *s, int thread, enum ibv_wr_opcode opcode)
{
	story_post(s, thread, VERB_post_send, &ends[thread].qp, 2, opcode,
		   (struct event_sge){ AT + 64, 8, ends[thread].mr.lkey });
}

static void send_at(struct story *s, int thread)
{
	post_at(s, thread, IBV_WR_SEND);
}

static void poll_at(struct story *s, int thread, int opcode)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[thread].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = opcode == IBV_WC_RECV ? 1 : 2,
				 .opcode = (uint8_t)opcode,
				 .qp_num = ends[thread].qp.qp_num };
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void handle_message(struct story *s, struct credits c)
{
	poll_at(s, 1, IBV_WC_RECV);
	if (c.early)
		receive_at(s, 1);
	send_at(s, 1);
	if (!c.early)
		receive_at(s, 1);
	poll_at(s, 1, IBV_WC_SEND);
}

static void next_message(struct story *s, struct credits c)
{
	if (c.writes)
		post_at(s, 0, IBV_WR_RDMA_WRITE);
	if (c.other_sends)
		send_at(s, 0);
	poll_at(s, 0, IBV_WC_SEND);
	poll_at(s, 0, IBV_WC_RECV);
	receive_at(s, 0);
	if (!c.other_sends)
		send_at(s, 0);
}

static uint64_t return_credits(struct credits c)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (int i = 0; i < 4; i++)
		receive_at(&s, 0);
	for (int i = 0; i < c.window; i++)
		receive_at(&s, 1);
	for (int i = 0; i < c.window + c.unasked; i++)
		send_at(&s, 0);
	for (uint64_t i = 0; i < c.n; i++) {
		handle_message(&s, c);
		next_message(&s, c);
	}
	story_do(&s, 1, VERB_destroy_qp, 5, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_STATE_007];
	story_end(&s);
	return found;
}

TEST(a_credit_is_returned_before_its_receive)
{
	const struct credits c = { .n = 4, .window = 2 };
	struct credits other = c;

	assert_int_equal(return_credits(c), 1);
	other.window = 1; /* a request, its answer, the next request */
	assert_int_equal(return_credits(other), 1);
	other = c;
	other.n = 3;
	assert_int_equal(return_credits(other), 0);
	other = c;
	other.early = true;
	assert_int_equal(return_credits(other), 0);
	other = c;
	other.unasked = true;
	assert_int_equal(return_credits(other), 0);
	other = c;
	other.other_sends = true;
	assert_int_equal(return_credits(other), 0);
	other = c;
	other.writes = true;
	assert_int_equal(return_credits(other), 1);
}

/* Two messages, their answers, and the receives for the next two; @one: only for one of them. */
static void exchange_round(struct story *s, bool one)
{
	send_at(s, 0);
	if (!one)
		send_at(s, 0);
	for (int i = 0; i < 2 - one; i++)
		poll_at(s, 1, IBV_WC_RECV);
	for (int i = 0; i < 2 - one; i++)
		send_at(s, 1);
	for (int i = 0; i < 2 - one; i++)
		receive_at(s, 1);
	for (int i = 0; i < 2 - one; i++) {
		poll_at(s, 0, IBV_WC_RECV);
		receive_at(s, 0);
	}
}

static uint64_t exchange_rounds(bool one)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (int i = 0; i < 2 - one; i++) {
		receive_at(&s, 0);
		receive_at(&s, 1);
	}
	for (int i = 0; i < 8; i++)
		exchange_round(&s, one);
	story_do(&s, 1, VERB_destroy_qp, 5, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_STATE_007];
	story_end(&s);
	return found;
}

TEST(receives_of_a_round_are_posted_before_the_next_one)
{
	assert_int_equal(exchange_rounds(true), 1);
	assert_int_equal(exchange_rounds(false), 0);
}

static void grant_at(struct story *s, uint32_t imm)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);

	event->object = W(&ends[1].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 2, .opcode = IBV_WR_SEND_WITH_IMM, .flags = IBV_SEND_SIGNALED, .imm = imm
	};
	story_event(s, 1, EVENT_POST, (sizeof(*event) + sizeof(*wr)) / 8);
}

/* Rounds of two messages, which process 2 grants by @imm before it posts their receives. */
static uint64_t grant_rounds(uint32_t imm)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (int i = 0; i < 4; i++)
		receive_at(&s, i % 2);
	for (int i = 0; i < 6; i++) {
		for (int k = 0; k < 2; k++)
			send_at(&s, 0);
		for (int k = 0; k < 2; k++)
			poll_at(&s, 1, IBV_WC_RECV);
		grant_at(&s, imm);
		for (int k = 0; k < 2; k++)
			receive_at(&s, 1);
		poll_at(&s, 0, IBV_WC_RECV);
		receive_at(&s, 0);
	}
	story_do(&s, 1, VERB_destroy_qp, 5, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_STATE_007];
	story_end(&s);
	return found;
}

TEST(immediate_data_say_how_many_receives_follow)
{
	assert_int_equal(grant_rounds(2), 1);
	assert_int_equal(grant_rounds(3), 0);
	assert_int_equal(grant_rounds(0), 0);
}
