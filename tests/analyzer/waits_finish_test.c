/* analyzer/facts/waits_finish.c: processes that end well, and had waited for what cannot come. */
#define STORY_OUTPUTS
#include <signal.h>

#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

static struct ibv_comp_channel channel = { .fd = 5 };

static void post_send(struct story *s, int flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 1, .opcode = IBV_WR_SEND, .flags = (uint16_t)flags, .nsge = 1
	};
	*sge = (struct event_sge){ AT, 8, 0x10 };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

static void post_receive(struct story *s, int end)
{
	story_post(s, end, VERB_post_recv, &ends[end].qp, 1, 0,
		   (struct event_sge){ AT, 8, ends[end].mr.lkey });
}

static void add_empty_polls(struct story *s, int end, int i, const void *cq, uint64_t times)
{
	s->threads[end].head.polls[i].cq = W(cq);
	s->threads[end].head.polls[i].empty = times;
}

static const struct fact *find_wait(const struct story *s, enum fact_kind kind, uint32_t process)
{
	const struct fact_list *list = &s->findings->facts->list;

	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].kind == kind && list->all[i].process == process)
			return &list->all[i];
	return NULL;
}

/* The end gives up a second later, destroys its queue pair, and ends well. */
static void give_up(struct story *s, int end)
{
	s->now += SECOND;
	story_do(s, end, VERB_destroy_qp, 9, 0, W(&ends[end].qp));
	story_exit(s, end ? PEER : STORY_PID, 0);
	story_check(s, NULL);
}

static void check_vain_wait(struct story *s, int end, const char *text)
{
	const struct fact *fact;

	give_up(s, end);
	fact = find_wait(s, FACT_WAITED, end ? 2 : 1);
	assert_non_null(fact);
	assert_non_null(fact->because);
	if (!strstr(fact->because, text))
		fail_msg("no '%s' in: %s", text, fact->because);
	assert_false(facts_are_bad(s->findings->facts));
	story_end(s);
}

static void check_no_wait_fact(struct story *s, int end)
{
	give_up(s, end);
	assert_int_equal(facts_count(s->findings->facts, FACT_WAITED), 0);
	story_end(s);
}

TEST(a_send_that_is_not_signalled)
{
	const struct fact *fact;
	struct story s;

	begin_story(&s);
	post_send(&s, 0);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	give_up(&s, 0);
	fact = find_wait(&s, FACT_WAITED, 1);
	assert_non_null(fact);
	assert_string_equal(fact->what, "process 1 (app) for 1.00 s, until 1.00 s");
	assert_string_equal(fact->because,
			    "1 send of qp1 outstanding, not signalled, the last at 1:20: no "
			    "completion can come to cq1 (sq_sig_all is 0; set "
			    "IBV_SEND_SIGNALED); thread 1 polled cq1 empty 900 times and never "
			    "found a completion");
	story_end(&s);
}

TEST(a_process_that_is_killed_had_waited_for_it_too)
{
	const struct fact *fact;
	struct story s;

	begin_story(&s);
	post_send(&s, 0);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	s.now += SECOND;
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	fact = find_wait(&s, FACT_KILLED, 1);
	assert_non_null(fact);
	assert_non_null(strstr(fact->because, "no completion can come to cq1"));
	story_end(&s);
}

/* The CQ has the completions of receives as well. */
TEST(a_receive_may_have_been_waited_for)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	post_send(&s, 0);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	check_no_wait_fact(&s, 0);
}

/* A loop that makes progress everywhere waits for nothing there. */
TEST(another_cq_may_have_been_waited_for)
{
	struct ibv_cq other = { .context = &ends[0].context, .cqe = 16 };
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_create_cq, 3, W(&other), W(&ends[0].context), W(16), W(0), W(0), W(0));
	post_send(&s, 0);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	add_empty_polls(&s, 0, 1, &other, 900);
	check_no_wait_fact(&s, 0);
}

/* The program has mixed up its CQs. */
TEST(a_completion_in_a_cq_that_nobody_polls)
{
	struct ibv_cq other = { .context = &ends[0].context, .cqe = 16 };
	const struct fact *fact;
	struct story s;

	for (int polled = 0; polled < 2; polled++) {
		begin_story(&s);
		story_do(&s, 0, VERB_create_cq, 3, W(&other), W(&ends[0].context), W(16), W(0),
			 W(0), W(0));
		post_send(&s, IBV_SEND_SIGNALED);
		add_empty_polls(&s, 0, 0, &other, 900);
		if (polled)
			add_empty_polls(&s, 0, 1, &ends[0].cq, 1);
		s.now += SECOND;
		story_exit(&s, STORY_PID, SIGTERM);
		story_check(&s, NULL);
		fact = find_wait(&s, FACT_KILLED, 1);
		assert_non_null(fact);
		assert_int_equal(!strstr(fact->because, "; its completion comes to cq1, which no "
							"thread polled"),
				 polled);
		story_end(&s);
	}
}

TEST(two_polls_are_no_wait)
{
	struct story s;

	begin_story(&s);
	post_send(&s, 0);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 2);
	check_no_wait_fact(&s, 0);
}

TEST(a_send_for_which_there_was_no_receive)
{
	struct story s;

	begin_story(&s);
	post_send(&s, IBV_SEND_SIGNALED);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	check_vain_wait(&s, 0,
			"IBV_WR_SEND 1:20, for 1.00 s; peer process 2 (app) qp1: it had "
			"never posted a receive; thread 1 polled cq1 empty 900 times");
}

/* Programs often end before they have polled their last sends. */
TEST(a_send_that_is_not_polled)
{
	struct story s;

	begin_story(&s);
	post_send(&s, IBV_SEND_SIGNALED);
	check_no_wait_fact(&s, 0);
}

TEST(a_message_where_the_peer_only_wrote)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 1);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	add_empty_polls(&s, 1, 0, &ends[1].cq, 900);
	check_vain_wait(&s, 1,
			"0 sends and 1 RDMA WRITE posted by the peer, 0 received by this one "
			"(a WRITE has no completion at this end");
}

/* An end that only serves requests is idle when none comes. */
TEST(a_message_that_was_not_sent)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 1);
	add_empty_polls(&s, 1, 0, &ends[1].cq, 900);
	check_no_wait_fact(&s, 1);
}

static void poll_receive(struct story *s, int end)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = ends[end].qp.qp_num };
	story_event(s, end, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* The peer takes a message, posts no receive again and returns no credit. */
static void stop_credits(struct story *s)
{
	begin_story(s);
	post_receive(s, 0);
	post_receive(s, 1);
	post_send(s, IBV_SEND_SIGNALED);
	poll_as(s, IBV_WC_SUCCESS);
	poll_receive(s, 1);
	add_empty_polls(s, 0, 0, &ends[0].cq, 900);
}

TEST(credits_that_stop)
{
	struct story s;

	stop_credits(&s);
	check_vain_wait(&s, 0,
			"0 sends posted by the peer, 0 received by this one, its 1 receive "
			"was consumed and no other was posted");
}

TEST(a_small_part_of_a_long_run_is_no_standstill)
{
	struct story s;

	begin_ends(&s);
	s.now += 10ull * SECOND;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	post_receive(&s, 0);
	post_receive(&s, 1);
	post_send(&s, IBV_SEND_SIGNALED);
	poll_as(&s, IBV_WC_SUCCESS);
	poll_receive(&s, 1);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	check_no_wait_fact(&s, 0);
}

TEST(both_ends_wait_for_a_message)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++) {
		post_receive(&s, i);
		add_empty_polls(&s, i, 0, &ends[i].cq, 900);
	}
	check_vain_wait(&s, 0, "each end waits for a message of the other");
}

/* How a process gives up a connection on which both ends wait. */
struct renewal {
	bool resets;    /* the queue pair, instead of another one */
	int64_t pause;  /* until it sends again */
	uint64_t empty; /* polls, until then */
	uint64_t theirs;
	bool peer_busy;
};

static void connect_again(struct story *s, const struct renewal *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_init_attr init = { .send_cq = &ends[0].cq,
					 .recv_cq = &ends[0].cq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_RC };

	if (r->resets) {
		story_do(s, 0, VERB_modify_qp, 30, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	} else {
		story_do(s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
		story_do(s, 0, VERB_create_qp, 4, W(&ends[0].qp), W(&ends[0].pd), W(&init));
	}
	connect_end(s, 0, 0x22, 0x22, FAR);
	s->now += (uint64_t)r->pause;
	post_send(s, IBV_SEND_SIGNALED);
	((struct event_poll *)s->words)->empty = r->empty;
	poll_as(s, IBV_WC_SUCCESS);
	((struct event_poll *)s->words)->empty = r->theirs;
	poll_receive(s, 1);
}

static uint64_t renew_connection(struct renewal r)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_receive(&s, i);
	s.now += SECOND;
	if (r.peer_busy)
		post_receive(&s, 1);
	connect_again(&s, &r);
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	found = facts_count(s.findings->facts, FACT_WAITED);
	story_end(&s);
	return found;
}

TEST(a_connection_is_renewed_since_both_ends_wait)
{
	const struct renewal r = { .empty = 9, .theirs = 9 };
	struct renewal other = r;

	assert_int_equal(renew_connection(r), 1);
	other.resets = true;
	assert_int_equal(renew_connection(other), 1);
	other = r;
	other.pause = 2000000000; /* the other end had nothing to send */
	assert_int_equal(renew_connection(other), 0);
	other = r;
	other.empty = 0; /* it has not polled */
	assert_int_equal(renew_connection(other), 0);
	other = r;
	other.theirs = 0;
	assert_int_equal(renew_connection(other), 0);
	other = r;
	other.peer_busy = true;
	assert_int_equal(renew_connection(other), 0);
}

/* The peer does something else. */
TEST(one_end_waits_for_a_message)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_receive(&s, i);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	check_no_wait_fact(&s, 0);
}

/* The peer has a channel; its thread arms its CQ when the message was there, or before. */
static void let_a_message_come(struct story *s, bool armed_before)
{
	struct event_notify *event = (struct event_notify *)s->words;

	peer_channel = &channel;
	begin_story(s);
	peer_channel = NULL;
	post_receive(s, 1);
	for (int i = 0; i < 2; i++) {
		if (i != armed_before) {
			event->cq = W(&ends[1].cq);
			story_event(s, 1, EVENT_NOTIFY, sizeof(*event) / 8);
			continue;
		}
		post_send(s, IBV_SEND_SIGNALED);
		poll_as(s, IBV_WC_SUCCESS);
	}
}

TEST(an_event_of_a_cq_that_was_armed_too_late)
{
	struct story s;

	let_a_message_come(&s, false);
	check_vain_wait(&s, 1,
			"; 1 completion had come to cq1 and was not polled; it was armed "
			"after that, by 2:23");
}

TEST(an_event_that_was_not_retrieved)
{
	struct story s;

	let_a_message_come(&s, true);
	check_no_wait_fact(&s, 1);
}

TEST(an_event_of_a_cq_that_was_not_armed_again)
{
	struct event_notify *event;
	struct ibv_cq *got = &ends[1].cq;
	struct story s;
	void *context;

	event = (struct event_notify *)s.words;
	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	for (int i = 0; i < 2; i++)
		post_receive(&s, 1);
	event->cq = W(&ends[1].cq);
	story_event(&s, 1, EVENT_NOTIFY, sizeof(*event) / 8);
	post_send(&s, IBV_SEND_SIGNALED);
	poll_as(&s, IBV_WC_SUCCESS);
	story_do(&s, 1, VERB_get_cq_event, 12, 0, W(&channel), W(&got), W(&context));
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	poll_receive(&s, 1);
	post_send(&s, IBV_SEND_SIGNALED);
	poll_as(&s, IBV_WC_SUCCESS);
	check_vain_wait(&s, 1,
			"it was armed last by 2:24, and its event was retrieved: it was not "
			"armed again");
}

static void move_to(struct story *s, int end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	story_do(s, end, VERB_modify_qp, 34, 0, W(&ends[end].qp), W(&attr), W(IBV_QP_STATE));
}

/* Poll @cq in vain; a sample shows it after @ns, and with @stops another that it has stopped. */
static void polls_from(struct story *s, int end, const void *cq, uint64_t ns, bool stops)
{
	struct stored_sample sample = { .doing = "polls", .thread = s->threads[end].id };

	add_empty_polls(s, end, 0, cq, 900);
	sample.time = (int64_t)(s->now + ns);
	assert_int_equal(writer_store_sample(s->writer, &sample), 0);
	sample.doing = "nothing";
	sample.time += SECOND / 10;
	if (stops)
		assert_int_equal(writer_store_sample(s->writer, &sample), 0);
}

TEST(receives_that_a_reset_has_removed)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	post_receive(&s, 0);
	move_to(&s, 0, IBV_QPS_RESET);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	check_vain_wait(&s, 0,
			"2 receives of qp1 had no completion when the queue pair went to RESET at "
			"1:22: RESET removes requests without a completion, only ERR flushes them; "
			"thread 1 polled cq1 empty 900 times");
}

TEST(a_reset_with_few_polls_after_it)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0);
	move_to(&s, 0, IBV_QPS_RESET);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, true);
	check_no_wait_fact(&s, 0);
}

TEST(a_reset_without_receives)
{
	struct story s;

	begin_story(&s);
	move_to(&s, 0, IBV_QPS_RESET);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	check_no_wait_fact(&s, 0);
}

/* The CQ of the request is never polled, but another one is. */
TEST(another_cq_is_polled)
{
	static struct ibv_cq other;
	struct story s;

	begin_story(&s);
	other = (struct ibv_cq){ .context = &ends[0].context, .cqe = 16 };
	story_do(&s, 0, VERB_create_cq, 5, W(&other), W(&ends[0].context), W(16), W(0), W(0), W(0));
	post_send(&s, IBV_SEND_SIGNALED);
	polls_from(&s, 0, &other, SECOND / 10, false);
	check_vain_wait(&s, 0, "its completion comes to cq1, which no thread polled");
}

/* A program that waits for its peer's data looks into it. */
TEST(another_cq_is_polled_for_a_moment)
{
	static struct ibv_cq other;
	struct story s;

	begin_story(&s);
	other = (struct ibv_cq){ .context = &ends[0].context, .cqe = 16 };
	story_do(&s, 0, VERB_create_cq, 5, W(&other), W(&ends[0].context), W(16), W(0), W(0), W(0));
	post_send(&s, IBV_SEND_SIGNALED);
	polls_from(&s, 0, &other, SECOND / 10, true);
	check_no_wait_fact(&s, 0);
}

/* Both ends have completed a message; the sender continues to poll. */
static void send_and_poll(struct story *s)
{
	begin_story(s);
	post_receive(s, 1);
	post_send(s, IBV_SEND_SIGNALED);
	poll_as(s, IBV_WC_SUCCESS);
	poll_receive(s, 1);
}

TEST(one_completion_more_than_requests)
{
	struct story s;

	send_and_poll(&s);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	check_vain_wait(&s, 0,
			"thread 1 polled cq1 empty 900 times after its last completion, 1:21, with "
			"no outstanding request that completes in the CQ");
}

/* The process may have handled only the first of the completions. */
TEST(completions_of_one_poll)
{
	struct event_poll *event;
	struct event_wc *wc;
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_send(&s, IBV_SEND_SIGNALED);
	event = (struct event_poll *)s.words;
	wc = (struct event_wc *)(event + 1);
	event->cq = W(&ends[0].cq);
	event->ret = event->nwc = 2;
	for (int i = 0; i < 2; i++)
		wc[i] = (struct event_wc){ .wr_id = 1, .qp_num = ends[0].qp.qp_num };
	story_event(&s, 0, EVENT_POLL, (sizeof(*event) + 2 * sizeof(*wc)) / 8);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	check_vain_wait(&s, 0,
			"with no outstanding request that completes in the CQ; its poll 1:22 "
			"returned 2 completions");
}

TEST(one_receive_more_than_were_posted)
{
	struct story s;

	send_and_poll(&s);
	post_send(&s, 0); /* the peer's thread is to be the only one that has posted there */
	post_receive(&s, 1);
	poll_receive(&s, 1);
	polls_from(&s, 1, &ends[1].cq, SECOND / 10, false);
	check_vain_wait(&s, 1, "with no outstanding request that completes in the CQ");
}

/* A loop for whatever comes has a receive, or had never found a completion there. */
TEST(a_poll_of_all_that_may_come)
{
	struct ibv_cq other = { .context = &ends[0].context, .cqe = 16 };
	struct story s;

	send_and_poll(&s);
	post_receive(&s, 0);
	post_receive(&s, 1);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	check_no_wait_fact(&s, 0);

	begin_story(&s);
	story_do(&s, 0, VERB_create_cq, 3, W(&other), W(&ends[0].context), W(16), W(0), W(0), W(0));
	post_send(&s, IBV_SEND_SIGNALED);
	poll_as(&s, IBV_WC_SUCCESS);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	add_empty_polls(&s, 0, 1, &other, 900);
	check_no_wait_fact(&s, 0);
}

/* Another thread posts when there is something to do. */
TEST(a_poll_for_other_threads)
{
	struct story s;
	int thread;

	begin_story(&s);
	thread = story_thread(&s, STORY_PID, 0, 0);
	story_post(&s, thread, VERB_post_recv, &ends[0].qp, 7, 0,
		   (struct event_sge){ AT, 8, ends[0].mr.lkey });
	poll_receive(&s, 0);
	post_receive(&s, 1);
	post_send(&s, IBV_SEND_SIGNALED);
	poll_as(&s, IBV_WC_SUCCESS);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, false);
	check_no_wait_fact(&s, 0);
}

TEST(a_poll_that_ends_soon)
{
	struct story s;

	send_and_poll(&s);
	polls_from(&s, 0, &ends[0].cq, SECOND / 10, true);
	check_no_wait_fact(&s, 0);
}

/* The send is posted at one step of 1 us, and the process is killed @ns later. */
static bool has_waited(uint64_t ns)
{
	struct story s;
	bool waited;

	begin_story(&s);
	post_send(&s, 0);
	add_empty_polls(&s, 0, 0, &ends[0].cq, 900);
	s.now += ns - 1000; /* the end is a step, too */
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	waited = find_wait(&s, FACT_KILLED, 1)->because != NULL;
	story_end(&s);
	return waited;
}

TEST(a_wait_begins_with_a_quarter_of_a_second)
{
	assert_false(has_waited(249999999));
	assert_true(has_waited(250000000));
}

/* A thread posts, and another one of the process, @worked ns later, has polled the completion. */
static int begin_pollers(struct story *s, uint64_t worked)
{
	struct ibv_port_attr port = { .lid = ends[0].lid };
	int other, third;

	begin_story(s);
	other = story_thread(s, STORY_PID, 0, 0);
	third = story_thread(s, STORY_PID, 0, 0);
	story_do(s, third, VERB_query_port, 1, 0, W(&ends[0].context), W(1), W(&port),
		 W(sizeof(port)));
	post_send(s, IBV_SEND_SIGNALED);
	s->now += worked;
	story_poll(s, other, &ends[0].cq, 1, IBV_WC_SUCCESS, ends[0].qp.qp_num);
	return third;
}

/* A third one polls, and waits for the completion that the second one has. */
TEST(two_threads_poll_for_the_same_completions)
{
	struct story s;
	int third = begin_pollers(&s, 1000);

	polls_from(&s, third, &ends[0].cq, SECOND / 10, false);
	check_vain_wait(&s, 0,
			"polled cq1 empty 900 times and never found a completion, with no "
			"outstanding request that completes in the CQ; thread 3 has polled "
			"completions there, too, the last 3:1");
}

/* A pair of threads that serve others is idle for a while. */
TEST(two_threads_poll_behind_much_work)
{
	struct story s;
	int third = begin_pollers(&s, SECOND / 2);

	polls_from(&s, third, &ends[0].cq, SECOND / 10, false);
	check_no_wait_fact(&s, 0);
}

/* A queue pair with an SRQ that has a receive goes to @state, and its process polls. */
static void leave_srq(struct story *s, enum ibv_qp_state state)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = { .cap = { 8, 0, 1, 0, 0 }, .qp_type = IBV_QPT_RC };
	static struct ibv_srq srq;

	begin_ends(s);
	srq = (struct ibv_srq){ .context = &ends[0].context, .pd = &ends[0].pd };
	story_do(s, 0, VERB_destroy_qp, 6, 0, W(&ends[0].qp));
	story_do(s, 0, VERB_create_srq, 5, W(&srq), W(&ends[0].pd), W(&of_srq));
	ends[0].qp.srq = attr.srq = &srq;
	attr.send_cq = attr.recv_cq = &ends[0].cq;
	story_do(s, 0, VERB_create_qp, 4, W(&ends[0].qp), W(&ends[0].pd), W(&attr));
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	story_post(s, 0, VERB_post_srq_recv, &srq, 1, 0, (struct event_sge){ AT, 8, 0x10 });
	move_to(s, 0, state);
	polls_from(s, 0, &ends[0].cq, SECOND / 10, false);
}

TEST(receives_of_an_srq_are_not_flushed)
{
	struct story s;

	leave_srq(&s, IBV_QPS_ERR);
	check_vain_wait(&s, 0,
			"its queue pairs are in ERR, the last since 1:25, which does not flush the "
			"receives of an SRQ: IBV_EVENT_QP_LAST_WQE_REACHED comes instead");
	leave_srq(&s, IBV_QPS_RTS);
	check_no_wait_fact(&s, 0);
}
