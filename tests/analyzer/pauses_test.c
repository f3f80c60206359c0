/* analyzer/facts/pauses.c: long waits for a completion that came at last. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

static struct ibv_comp_channel channel = { .fd = 5 };

static void post_receive(struct story *s, int end)
{
	story_post(s, end, VERB_post_recv, &ends[end].qp, 1, 0,
		   (struct event_sge){ AT, 8, ends[end].mr.lkey });
}

static void poll_receive(struct story *s, int end, uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->empty = empty;
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = ends[end].qp.qp_num };
	story_event(s, end, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void end_all(struct story *s)
{
	story_exit(s, STORY_PID, 0);
	story_exit(s, PEER, 0);
	story_check(s, NULL);
}

static const struct fact *get_only_pause(const struct story *s)
{
	const struct fact_list *list = &s->findings->facts->list;
	const struct fact *only = NULL;

	for (size_t i = 0; i < list->n; i++) {
		if (list->all[i].kind != FACT_PAUSED)
			continue;
		assert_null(only);
		only = &list->all[i];
	}
	assert_non_null(only);
	return only;
}

static void pause_says(struct story *s, const char *what, const char *because)
{
	const struct fact *fact;

	end_all(s);
	fact = get_only_pause(s);
	assert_string_equal(fact->what, what);
	assert_string_equal(fact->because, because);
	assert_false(facts_are_bad(s->findings->facts));
	story_end(s);
}

static void has_no_pause(struct story *s)
{
	end_all(s);
	assert_int_equal(facts_count(s->findings->facts, FACT_PAUSED), 0);
	story_end(s);
}

TEST(a_thread_polls_while_its_peer_does_nothing)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	s.now += SECOND;
	story_post(&s, 1, VERB_post_send, &ends[1].qp, 1, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	poll_receive(&s, 0, 100000);
	pause_says(&s, "process 1 (app) for 1.00 s, 99 % of its run, from 1:20 to 1:21",
		   "a receive of qp1 completed when thread 1 had polled its CQ empty 100000 times; "
		   "peer process 2 (app) called no verb from 2:18 to 2:20, for 1.00 s");
}

TEST(a_peer_that_was_busy_with_verbs_was_not_silent)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	for (int i = 0; i < 4; i++) {
		s.now += SECOND / 4;
		post_receive(&s, 1);
	}
	poll_receive(&s, 0, 100000);
	pause_says(&s, "process 1 (app) for 1.00 s, 99 % of its run, from 1:20 to 1:21",
		   "a receive of qp1 completed when thread 1 had polled its CQ empty 100000 times");
}

TEST(a_thread_sleeps_for_an_event)
{
	struct ibv_cq *got = &ends[1].cq;
	struct story_call call;
	struct story s;
	void *context;

	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	post_receive(&s, 1);
	call = story_call(&s, 1, VERB_get_cq_event, 12, W(&channel), W(&got), W(&context));
	s.now += SECOND;
	story_return(&s, &call, 0);
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	poll_receive(&s, 1, 0);
	end_all(&s);
	assert_non_null(strstr(get_only_pause(&s)->because,
			       "a receive of qp1 completed when thread 2 had been in "
			       "ibv_get_cq_event() 2:"));
	story_end(&s);
}

/* The thread computes for some time, and polls afterwards. */
TEST(a_thread_that_does_not_poll_does_not_wait)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	s.now += SECOND;
	poll_receive(&s, 0, 5);
	has_no_pause(&s);
}

TEST(a_small_part_of_a_long_run)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	s.now += SECOND;
	poll_receive(&s, 0, 100000);
	s.now += 10ull * SECOND;
	has_no_pause(&s);
}

TEST(a_quarter_of_a_second)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	s.now += SECOND / 4;
	poll_receive(&s, 0, 100000);
	has_no_pause(&s);
}
