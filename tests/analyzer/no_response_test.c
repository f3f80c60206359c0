/* analyzer/model/no_response.c, STATE-010: a request that takes much longer than the timeout. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000, MS = 1000000, PACE = 100, TIMEOUT = 14, RETRIES = 7 };

/* Empty polls so far. */
static uint64_t empty;

static void poll_send(struct story *s, uint64_t wr_id, uint64_t more)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[0].cq);
	event->ret = 1;
	event->nwc = 1;
	event->empty = empty += more;
	*wc = (struct event_wc){ .wr_id = wr_id, .qp_num = 0x21 };
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void post_write(struct story *s)
{
	post_rdma(s, IBV_WR_RDMA_WRITE, AT, 8, ends[1].mr.rkey);
}

/* The first two show the pace. */
static void begin_polling(struct story *s)
{
	empty = 0;
	begin_story(s);
	for (int i = 0; i < 2; i++) {
		post_write(s);
		s->now += (uint64_t)MS;
		poll_send(s, 1, MS / PACE);
	}
}

/* Wait @ns for a response, and poll during @share percent of the time. */
static void wait_for_it(struct story *s, uint64_t ns, uint64_t share)
{
	s->now += ns;
	poll_send(s, 1, ns / PACE / 100 * share);
}

/* clang-format off */
static const struct wait {
	const char *name;
	uint8_t timeout, retries;
	uint64_t ns, share;
	bool hazard;
} waits[] = {
	{ "two_seconds",                TIMEOUT, RETRIES, 2ull * SECOND,  100, true },
	{ "as_long_as_four_timeouts",   TIMEOUT, RETRIES, 260 * MS,       100, false },
	{ "longer",                     TIMEOUT, RETRIES, 300 * MS,       100, true },
	{ "a_small_timeout_is_no_haste", 1,      RETRIES, 200 * MS,       100, false },
	{ "a_large_timeout",            20,      RETRIES, 10ull * SECOND, 100, false },
	{ "no_timeout",                 0,       RETRIES, 10ull * SECOND, 100, false },
	{ "a_thread_that_did_not_run",  TIMEOUT, RETRIES, 10ull * SECOND, 1,   false },
};
/* clang-format on */

static void a_write_takes(void **state)
{
	const struct wait *row = *state;
	struct story s;

	begin_ends(&s);
	empty = 0;
	ends[0].attr.timeout = row->timeout;
	ends[0].attr.retry_cnt = row->retries;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	post_write(&s);
	poll_send(&s, 1, 1);
	post_write(&s);
	s.now += (uint64_t)MS;
	poll_send(&s, 1, MS / PACE);
	post_write(&s);
	wait_for_it(&s, row->ns, row->share);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], row->hazard);
	story_end(&s);
}
TEST_ROWS(waits, a_write_takes);

TEST(the_hazard_says_how_long_and_how_often_it_looked)
{
	struct story s;

	begin_polling(&s);
	post_write(&s);
	wait_for_it(&s, 2ull * SECOND, 100);
	story_warns(&s, RULE_STATE_010,
		    "A request of qp1 of process 1 (app) took 2.00 s, and no other send of its "
		    "process completed meanwhile. With timeout 14 it is sent again after 268.4 ms "
		    "at most: the other end or the path did not respond. cq1 was polled empty "
		    "20000000 times.");
}

/*
 * The completion is polled after that of the receive: the polls in between count with the receive.
 */
TEST(polls_that_found_something_else_count)
{
	const struct event_sge sge = { AT + 64, 8, 0x10 };
	struct story s;
	struct event_poll *event = (struct event_poll *)s.words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	begin_polling(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 9, 0, sge);
	post_write(&s);
	s.now += 2ull * SECOND;
	event->cq = W(&ends[0].cq);
	event->ret = 1;
	event->nwc = 1;
	event->empty = empty += 2ull * SECOND / PACE;
	*wc = (struct event_wc){ .wr_id = 9, .opcode = IBV_WC_RECV, .qp_num = 0x21 };
	story_event(&s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
	poll_send(&s, 1, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], 1);
	story_end(&s);
}

/* The empty polls may all have been before the post. */
TEST(polls_before_the_post_do_not_count)
{
	struct story s;

	begin_polling(&s);
	s.now += 2ull * SECOND;
	post_write(&s);
	s.now += 2ull * SECOND;
	poll_send(&s, 1, 2ull * SECOND / PACE);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], 0);
	story_end(&s);
}

TEST(other_sends_that_complete_show_that_the_path_works)
{
	struct story s;

	begin_polling(&s);
	post_write(&s);
	post_write(&s);
	for (int i = 0; i < 2; i++)
		wait_for_it(&s, 200 * MS, 100);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], 0);
	story_end(&s);
}

/* 10 MB/s */
TEST(large_requests_take_longer)
{
	struct story s;

	begin_polling(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 30000000, ends[1].mr.rkey);
	wait_for_it(&s, 2ull * SECOND, 100);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], 0);
	story_end(&s);
}

TEST(a_queue_pair_that_was_drained_meanwhile_did_not_send)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct story s;

	begin_polling(&s);
	story_do(&s, 0, VERB_modify_qp, 33, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	post_write(&s);
	s.now += 2ull * SECOND;
	attr.qp_state = IBV_QPS_RTS;
	story_do(&s, 0, VERB_modify_qp, 33, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	poll_send(&s, 1, 2ull * SECOND / PACE);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], 0);
	story_end(&s);
}

/* A thread that sleeps until the event of its CQ comes */

static void arm_cq(struct story *s)
{
	struct event_notify *event = (struct event_notify *)s->words;

	*event = (struct event_notify){ .cq = W(&ends[0].cq) };
	story_event(s, 0, EVENT_NOTIFY, sizeof(*event) / 8);
}

static void sleep_for(struct story *s, int thread, uint64_t ns)
{
	static struct ibv_comp_channel channel;
	struct ibv_cq *got = &ends[0].cq;
	void *context = NULL;
	struct story_call call;

	call = story_call(s, thread, VERB_get_cq_event, 12, W(&channel), W(&got), W(&context));
	s->now += ns;
	story_return(s, &call, 0);
}

/* clang-format off */
static const struct sleep {
	const char *name;
	uint64_t ns;         /* in ibv_get_cq_event() */
	bool armed_late;     /* after the post: the completion may have been there */
	bool posted_late;    /* after the sleep */
	bool hazard;
} sleeps[] = {
	{ "sleep_proves_that_there_was_none", 2ull * SECOND, false, false, true },
	{ "sleep_of_just_a_second",           SECOND,        false, false, true },
	{ "sleep_of_less_than_a_second",      900ull * MS,   false, false, false },
	{ "queue_that_is_armed_late",         2ull * SECOND, true,  false, false },
	{ "request_that_is_posted_later", 2ull * SECOND, false, true,  false },
};
/* clang-format on */

static void a_thread_sleeps(void **state)
{
	const struct sleep *row = *state;
	struct story s;

	begin_polling(&s);
	if (!row->armed_late)
		arm_cq(&s);
	if (!row->posted_late)
		post_write(&s);
	if (row->armed_late)
		arm_cq(&s);
	sleep_for(&s, 0, row->ns);
	if (row->posted_late)
		post_write(&s);
	poll_send(&s, 1, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], row->hazard);
	story_end(&s);
}
TEST_ROWS(sleeps, a_thread_sleeps);

TEST(the_hazard_says_how_long_it_slept)
{
	struct story s;

	begin_polling(&s);
	arm_cq(&s);
	post_write(&s);
	sleep_for(&s, 0, 2ull * SECOND);
	poll_send(&s, 1, 0);
	story_warns(&s, RULE_STATE_010,
		    "A request of qp1 of process 1 (app) took 2.00 s, and no other send of its "
		    "process completed meanwhile. With timeout 14 it is sent again after 268.4 ms "
		    "at most: the other end or the path did not respond, or this process was "
		    "stopped. Its thread waited 2.00 s in ibv_get_cq_event().");
}

/* Messages: their receive, and rnr_retry */

enum receive { NEVER_KNOWN, BEFORE, LATE };

/* clang-format off */
static const struct message {
	const char *name;
	enum receive receive;
	uint8_t rnr_retry;
	uint64_t ns;
	bool hazard;
} messages[] = {
	{ "its_receive_was_there",              BEFORE,      7, 2ull * SECOND, true },
	{ "its_receive_came_late",              LATE,        7, 2ull * SECOND, false },
	{ "its_receive_is_not_known",           NEVER_KNOWN, 7, 9ull * SECOND, false },
	{ "retries_that_may_take_as_long",      NEVER_KNOWN, 2, 2ull * SECOND, false },
	{ "retries_that_would_have_ended",      NEVER_KNOWN, 2, 3ull * SECOND, true },
};
/* clang-format on */

static void post_receive(struct story *s)
{
	story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0, (struct event_sge){ AT, 8, 0x20 });
}

static void a_message_takes(void **state)
{
	const struct message *row = *state;
	struct story s;

	begin_ends(&s);
	empty = 0;
	ends[0].attr.rnr_retry = row->rnr_retry;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	if (row->receive != NEVER_KNOWN)
		connect_end(&s, 1, 0x21, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	post_write(&s);
	poll_send(&s, 1, 1);
	post_write(&s);
	s.now += (uint64_t)MS;
	poll_send(&s, 1, MS / PACE);
	if (row->receive == BEFORE)
		post_receive(&s);
	story_post(&s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, 0x10 });
	s.now += row->ns;
	if (row->receive == LATE)
		post_receive(&s);
	poll_send(&s, 1, row->ns / PACE);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_STATE_010], row->hazard);
	story_end(&s);
}
TEST_ROWS(messages, a_message_takes);
