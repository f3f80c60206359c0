/* analyzer/model/dry.c, STATE-007: a receive queue that is too small for what is sent to it. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { MS = 1000000, ROUNDS = 6 };

/* Empty polls of the sender's CQ, so far. */
static uint64_t empty;

static void receive_as_peer(struct story *s)
{
	story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0, (struct event_sge){ AT, 64, 0x20 });
}

static void send_as_peer_of(struct story *s, uint32_t bytes)
{
	story_post(s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND,
		   (struct event_sge){ AT, bytes, 0x10 });
}

static void poll_at(struct story *s, int thread, int opcode, uint64_t polls)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[thread].cq);
	event->ret = 1;
	event->nwc = 1;
	event->empty = polls;
	*wc = (struct event_wc){ .wr_id = 1,
				 .opcode = (uint8_t)opcode,
				 .qp_num = ends[thread].qp.qp_num };
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/*
 * Two messages at a time, for @receives. The second waits for min_rnr_timer (12: 0.64 ms), or as
 * long as @took; the sender polls all the time, or only then.
 */
static void exchange_messages(struct story *s, int receives, uint32_t bytes, int64_t took,
			      bool busy)
{
	begin_story(s);
	empty = 0;
	for (int i = 0; i < receives; i++)
		receive_as_peer(s);
	for (int i = 0; i < ROUNDS; i++) {
		s->now += MS / 10;
		send_as_peer_of(s, bytes);
		send_as_peer_of(s, bytes);
		poll_at(s, 0, IBV_WC_SEND, empty += busy);
		s->now += MS / 50;
		poll_at(s, 1, IBV_WC_RECV, 0);
		receive_as_peer(s);
		s->now += took;
		poll_at(s, 0, IBV_WC_SEND, empty += 100 * busy);
		poll_at(s, 1, IBV_WC_RECV, 0);
		receive_as_peer(s);
	}
	story_exit(s, PEER, 0);
	story_check(s, NULL);
}

TEST(a_queue_of_one_receive_for_two_messages)
{
	struct story s;

	exchange_messages(&s, 1, 8, MS, true);
	assert_int_equal(s.findings->hazards[RULE_STATE_007], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_STATE_007)
			assert_string_equal(
				s.findings->all[i]->says,
				"qp1 (number 0x22) never held more than 1 receive, and up to 1 "
				"message waited while it was empty. 6 of 12 messages waited for "
				"640.0 us (min_rnr_timer 12) or longer, at most for 1.0 ms: "
				"senders were delayed during 6.1 ms of 6.7 ms.");
	story_end(&s);
}

TEST(no_hazard_where_nothing_shows_a_wait_for_the_timer)
{
	static const struct {
		const char *name;
		int receives;
		uint32_t bytes;
		int64_t took;
		bool busy;
	} rows[] = {
		{ "there is a receive for each", 2, 8, MS, true },
		{ "it took less than the timer", 1, 8, MS / 2, true },
		{ "it may have been polled late", 1, 8, MS, false },
		{ "it may have taken as long to send", 1, 1 << 20, MS, true },
	};
	struct story s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		exchange_messages(&s, rows[i].receives, rows[i].bytes, rows[i].took, rows[i].busy);
		if (s.findings->hazards[RULE_STATE_007])
			fail_msg("hazard though %s", rows[i].name);
		story_end(&s);
	}
}

/* Messages of 8 bytes for @before receives, and another receive @late ns later. Hazards. */
static uint64_t starve_messages(int messages, int before, int64_t late)
{
	const char *says = "";
	struct story s;
	uint64_t n;

	begin_story(&s);
	for (int i = 0; i < before; i++)
		receive_as_peer(&s);
	for (int i = 0; i < messages; i++)
		send_as_peer_of(&s, 8);
	s.now += (uint64_t)late;
	receive_as_peer(&s);
	story_exit(&s, PEER, 0);
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_STATE_007];
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_STATE_007)
			says = s.findings->all[i]->says;
	if (n)
		assert_string_equal(says, "qp1 (number 0x22) had no receive left for 300.0 ms, "
					  "until 2:21: 2 messages were waiting for one, the first "
					  "posted at 1:21.");
	story_end(&s);
	return n;
}

TEST(a_receive_that_comes_late)
{
	assert_int_equal(starve_messages(3, 1, 300 * MS), 1);
	assert_int_equal(starve_messages(3, 1, 200 * MS), 0);
	assert_int_equal(starve_messages(3, 0, 300 * MS), 0); /* the first one: STATE-006 */
	assert_int_equal(starve_messages(3, 3, 300 * MS), 0);
}
