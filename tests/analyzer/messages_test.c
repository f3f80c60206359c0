/* analyzer/profile/messages.c: process 1 sends, process 2 receives. A step takes 1000 ns. */
#include "analyzer/profile/pass.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

static struct story s;
static struct profile *profile;

static int begin_messages(void **state)
{
	(void)state;
	begin_story(&s);
	for (uint64_t i = 0; i < 4; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	return 0;
}

static int end_messages(void **state)
{
	(void)state;
	profile_free(profile);
	profile = NULL;
	story_end(&s);
	return 0;
}

FIXTURE(begin_messages, end_messages);

static void send_as(uint64_t wr_id, int opcode)
{
	story_post(&s, 0, VERB_post_send, &ends[0].qp, wr_id, opcode,
		   (struct event_sge){ AT, 8, ends[0].mr.lkey });
}

static void poll_send(uint64_t wr_id, int status)
{
	story_poll(&s, 0, &ends[0].cq, wr_id, status, ends[0].qp.qp_num);
}

static void poll_receive(uint64_t wr_id)
{
	struct event_poll *event = (struct event_poll *)s.words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = wr_id, .opcode = IBV_WC_RECV, .qp_num = 0x22 };
	story_event(&s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static const struct profile_messages *count_messages(void)
{
	story_check(&s, NULL);
	assert_int_equal(profile_trace(s.trace, NULL, &profile), 0);
	return &profile->messages;
}

TEST(the_first_poll_shows_when_it_had_arrived)
{
	send_as(1, IBV_WR_SEND);
	s.now += 4000;
	poll_receive(0); /* 5000 ns after the post */
	s.now += 2000;
	poll_send(1, IBV_WC_SUCCESS);
	const struct profile_messages *m = count_messages();

	assert_int_equal(m->way.count, 1);
	assert_int_equal(m->way.max, 5000);
	assert_int_equal(m->lay_sent.max, 3000);
	assert_int_equal(m->lay_received.max, 0);
}

TEST(a_receive_polled_late_lay_in_the_receivers_cq)
{
	send_as(1, IBV_WR_SEND);
	poll_send(1, IBV_WC_SUCCESS);
	s.now += 9000;
	poll_receive(0);
	const struct profile_messages *m = count_messages();

	assert_int_equal(m->way.max, 1000);
	assert_int_equal(m->lay_sent.max, 0);
	assert_int_equal(m->lay_received.max, 10000);
}

TEST(messages_are_told_apart_by_their_order)
{
	send_as(1, IBV_WR_SEND);
	send_as(2, IBV_WR_SEND);
	poll_receive(0); /* 2000 ns after the first */
	poll_receive(1); /* 2000 ns after the second */
	poll_send(1, IBV_WC_SUCCESS);
	poll_send(2, IBV_WC_SUCCESS);
	const struct profile_messages *m = count_messages();

	assert_int_equal(m->way.count, 2);
	assert_int_equal(m->way.least, 2000);
	assert_int_equal(m->way.max, 2000);
	assert_int_equal(m->lay_sent.least, 2000);
	assert_int_equal(m->lay_sent.max, 2000);
}

TEST(what_the_other_end_does_not_receive_is_none)
{
	send_as(1, IBV_WR_RDMA_WRITE);
	poll_send(1, IBV_WC_SUCCESS);
	send_as(2, IBV_WR_SEND);
	poll_receive(0);
	poll_send(2, IBV_WC_SUCCESS);
	assert_int_equal(count_messages()->way.count, 1);
}

TEST(nothing_is_reported_behind_an_error)
{
	send_as(1, IBV_WR_SEND);
	poll_receive(0);
	poll_send(1, IBV_WC_SUCCESS);
	send_as(2, IBV_WR_SEND);
	poll_send(2, IBV_WC_RNR_RETRY_EXC_ERR);
	send_as(3, IBV_WR_SEND);
	poll_receive(1);
	poll_send(3, IBV_WC_SUCCESS);
	assert_int_equal(count_messages()->way.count, 1);
}
