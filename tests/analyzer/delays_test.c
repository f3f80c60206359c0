/* analyzer/facts/delays.c: who was late. */
#define STORY_OUTPUTS
#include "analyzer/facts/delays.h"
#include "analyzer/facts/facts.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

#include <errno.h>

enum { MS = 1000000 };

static void begin_job(struct story *s, bool ranks)
{
	story_environ = ranks ? "SLURM_PROCID=3" : "";
	begin_story(s);
	story_environ = "";
}

static void post_8_bytes(struct story *s, int end, enum verb verb)
{
	const struct event_sge sge = { AT, 8, ends[end].mr.lkey };

	story_post(s, end, verb, &ends[end].qp, 1, verb == VERB_post_recv ? 0 : IBV_WR_SEND, sge);
}

/* One completion of a receive, after @empty polls so far. */
static void poll_receive(struct story *s, int end, uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct ibv_wc *wc = (struct ibv_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->empty = empty;
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct ibv_wc){
		.wr_id = 1, .opcode = IBV_WC_RECV, .byte_len = 8, .qp_num = ends[end].qp.qp_num
	};
	story_event(s, end, EVENT_POLL, (sizeof(*event) + sizeof(*wc) + 7) / 8);
}

/* Process 1 waits, and process 2 sends @ms later. */
static void send_late(struct story *s, unsigned int ms, uint64_t empty)
{
	post_8_bytes(s, 0, VERB_post_recv);
	s->now += (uint64_t)ms * MS;
	post_8_bytes(s, 1, VERB_post_send);
	poll_receive(s, 0, empty);
}

static const struct delays *end_job(struct story *s)
{
	story_exit(s, STORY_PID, 0);
	story_exit(s, PEER, 0);
	story_check(s, NULL);
	return facts_delays(s->findings->facts);
}

TEST(a_late_message_is_caused_by_its_sender)
{
	const struct delays *delays;
	struct story s;

	begin_job(&s, true);
	send_late(&s, 20, 9);
	send_late(&s, 30, 19);
	delays = end_job(&s);
	assert_int_equal(delays->npairs, 1);
	assert_int_equal(delays->pairs[0].waiter, 1);
	assert_int_equal(delays->pairs[0].cause, 2);
	assert_int_equal(delays->pairs[0].times, 2);
	assert_int_equal(delays->pairs[0].ns / MS, 50);
	assert_int_equal(delays->causes[2].times, 2);
	assert_true(delays->causes[2].by_send);
	assert_int_equal(delays->causes[2].longest / MS, 30);
	story_end(&s);
}

/* Up to the message of process 1, which process 2 will answer. */
static void begin_answer(struct story *s)
{
	begin_job(s, true);
	post_8_bytes(s, 1, VERB_post_recv);
	post_8_bytes(s, 0, VERB_post_recv);
	post_8_bytes(s, 0, VERB_post_send);
}

static const struct delay_pair *end_answer(struct story *s)
{
	const struct delays *delays;

	post_8_bytes(s, 1, VERB_post_send);
	poll_receive(s, 0, 9);
	delays = end_job(s);
	assert_int_equal(delays->npairs, 1);
	assert_int_equal(delays->pairs[0].times, 1);
	return &delays->pairs[0];
}

TEST(a_message_that_lay_unpolled_makes_its_receiver_a_late_poller)
{
	const struct delay_pair *pair;
	struct story s;

	begin_answer(&s);
	s.now += 20 * MS;
	poll_receive(&s, 1, 0);
	s.now += 5 * MS;
	pair = end_answer(&s);
	assert_int_equal(pair->by[DELAY_POLL] / MS, 20);
	assert_int_equal(pair->by[DELAY_SEND] / MS, 5);
	story_end(&s);
}

TEST(who_polls_in_vain_meanwhile_is_no_late_poller)
{
	const struct delay_pair *pair;
	struct story s;

	begin_answer(&s);
	s.now += 20 * MS;
	poll_receive(&s, 1, 2);
	pair = end_answer(&s);
	assert_int_equal(pair->by[DELAY_POLL], 0);
	assert_int_equal(pair->by[DELAY_SEND] / MS, 20);
	story_end(&s);
}

TEST(a_registration_before_the_late_message_is_its_part)
{
	const struct delay_pair *pair;
	struct story_call call;
	struct story s;

	begin_answer(&s);
	s.now += 5 * MS;
	for (int i = 0; i < 2; i++) {
		call = story_call(&s, 1, VERB_dereg_mr, 6, W(&ends[1].mr));
		s.now += 10 * MS;
		story_fails(&s, &call, EBUSY, EBUSY);
	}
	pair = end_answer(&s);
	assert_int_equal(pair->by[DELAY_REGISTER] / MS, 20);
	assert_int_equal(pair->by[DELAY_SEND] / MS, 5);
	story_end(&s);
}

TEST(without_empty_polls_nobody_waited)
{
	struct story s;

	begin_job(&s, true);
	send_late(&s, 20, 0);
	assert_int_equal(end_job(&s)->npairs, 0);
	story_end(&s);
}

TEST(what_was_sent_before_was_not_late)
{
	struct story s;

	begin_job(&s, true);
	post_8_bytes(&s, 0, VERB_post_recv);
	post_8_bytes(&s, 1, VERB_post_send);
	post_8_bytes(&s, 0, VERB_post_recv);
	s.now += 20 * MS;
	poll_receive(&s, 0, 9);
	assert_int_equal(end_job(&s)->npairs, 0);
	story_end(&s);
}

TEST(programs_without_ranks_may_be_idle)
{
	struct story s;

	begin_job(&s, false);
	send_late(&s, 20, 9);
	assert_int_equal(end_job(&s)->npairs, 0);
	story_end(&s);
}

/* Two processes do not show whether one is later than others. */
TEST(of_two_ranks_none_is_the_main_cause)
{
	const struct delays *delays;
	struct story s;

	begin_job(&s, true);
	for (unsigned int i = 1; i <= 8; i++)
		send_late(&s, 20, 9 * i);
	delays = end_job(&s);
	assert_int_equal(delays->causes[2].times, 8);
	assert_int_equal(delays->most, 0);
	story_end(&s);
}
