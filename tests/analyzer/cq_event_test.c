/* analyzer/model/cq_event.c, COMPL-004: process 1 sends, process 2 waits for an event of its CQ. */
#include <errno.h>

#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000, SIGALRM_STATUS = 14 };

static struct ibv_comp_channel channel = { .fd = 5 };

static void begin_wait(struct story *s)
{
	peer_channel = &channel;
	begin_story(s);
	for (uint64_t i = 0; i < 4; i++)
		story_post(s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
}

/* A message; the sender has polled its completion. */
static void send_one(struct story *s)
{
	story_post(s, 0, VERB_post_send, &ends[0].qp, 1, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, ends[0].mr.lkey });
	poll_as(s, IBV_WC_SUCCESS);
}

static void send_with(struct story *s, int flags)
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
	*sge = (struct event_sge){ AT, 8, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

static void send_solicited(struct story *s)
{
	send_with(s, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	poll_as(s, IBV_WC_SUCCESS);
}

static void poll_flagged(struct story *s, uint64_t wr_id, uint8_t flags)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->head.flags = flags;
	event->cq = W(&ends[1].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = wr_id, .opcode = IBV_WC_RECV, .qp_num = 0x22 };
	story_event(s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void poll_receive(struct story *s, uint64_t wr_id)
{
	poll_flagged(s, wr_id, 0);
}

static void arm_cq(struct story *s, int solicited_only)
{
	struct event_notify *event = (struct event_notify *)s->words;

	event->cq = W(&ends[1].cq);
	event->solicited_only = solicited_only;
	story_event(s, 1, EVENT_NOTIFY, sizeof(*event) / 8);
}

static struct ibv_cq *got;
static void *unused;

static struct story_call wait_begins(struct story *s)
{
	got = &ends[1].cq;
	return story_call(s, 1, VERB_get_cq_event, 12, W(&channel), W(&got), W(&unused));
}

/* Wait for an event until the process is killed. */
static void wait_in_vain(struct story *s)
{
	wait_begins(s);
	s->now += SECOND;
	story_exit(s, PEER, SIGALRM_STATUS);
}

static const char *get_lost_text(struct story *s)
{
	story_check(s, NULL);
	return story_only(s, RULE_COMPL_004)->says;
}

/* A story that ends here with a hazard; its process was killed, which is bad by itself. */
static void check_hazard_text(struct story *s, const char *text)
{
	const struct finding *f;

	story_check(s, NULL);
	f = story_only(s, RULE_COMPL_004);
	assert_true(f->site->hazard);
	if (!strstr(f->says, text))
		fail_msg("no '%s' in: %s", text, f->says);
	story_end(s);
}

/* The thread is stopped in its call when the event of the message has come or is about to come. */
TEST(a_stopped_thread_has_lost_no_event)
{
	struct stored_sample sample = { .doing = "nothing", .state = "T" };
	struct story s;

	begin_wait(&s);
	arm_cq(&s, 0);
	wait_begins(&s);
	sample.thread = s.threads[1].id;
	sample.time = (int64_t)s.now + SECOND / 10;
	assert_int_equal(writer_store_sample(s.writer, &sample), 0);
	send_one(&s);
	s.now += 2ull * SECOND;
	story_exit(&s, PEER, SIGALRM_STATUS);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_004], 0);
	story_end(&s);
}

TEST(a_message_comes_before_the_arming)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	arm_cq(&s, 0);
	wait_in_vain(&s);
	assert_non_null(strstr(get_lost_text(&s), "1 completion waited in cq1 for 1.00 s while"));
	story_end(&s);
}

/* The process ends later: what came meanwhile was not waited for. */
TEST(a_cancelled_thread_waits_no_longer)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	arm_cq(&s, 0);
	wait_begins(&s);
	s.now += SECOND / 10;
	atomic_store(&s.threads[1].head.ended, s.now);
	s.now += SECOND;
	story_exit(&s, PEER, SIGALRM_STATUS);
	story_finds_nothing(&s);
}

TEST(the_cq_was_polled_before_that)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	poll_receive(&s, 0);
	send_one(&s);
	arm_cq(&s, 0);
	wait_in_vain(&s);
	assert_non_null(strstr(get_lost_text(&s), "after its last poll at 2:"));
	story_end(&s);
}

TEST(the_cq_was_not_emptied)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	send_one(&s);
	arm_cq(&s, 0);
	poll_receive(&s, 0);
	wait_in_vain(&s);
	assert_non_null(strstr(get_lost_text(&s), "but not until empty"));
	story_end(&s);
}

TEST(the_next_message_ends_it)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	send_one(&s);
	arm_cq(&s, 0);
	call = wait_begins(&s);
	s.now += SECOND;
	send_one(&s);
	story_return(&s, &call, 0);
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	assert_non_null(strstr(get_lost_text(&s), "2 completions waited in cq1 for 1.00 s"));
	story_end(&s);
}

/* The CQ's event has come, however late the process was woken. */
TEST(the_event_comes)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	arm_cq(&s, 0);
	call = wait_begins(&s);
	send_one(&s);
	s.now += SECOND;
	story_return(&s, &call, 0);
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	story_finds_nothing(&s);
}

/* The thread was delayed, while the messages came of which the first caused the event. */
TEST(the_event_comes_and_more_messages)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	arm_cq(&s, 0);
	call = wait_begins(&s);
	s.now += SECOND / 100;
	send_one(&s);
	send_one(&s);
	s.now += SECOND;
	story_return(&s, &call, 0);
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	story_finds_nothing(&s);
}

/* A channel that is not to block: the call was held up, the event follows. */
TEST(a_call_that_does_not_wait)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	arm_cq(&s, 0);
	call = wait_begins(&s);
	s.now += SECOND / 100;
	send_one(&s);
	s.now += SECOND;
	story_fails(&s, &call, (uint64_t)-1, EAGAIN);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_COMPL_004], 0);
	story_end(&s);
}

TEST(nothing_has_come)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	poll_receive(&s, 0);
	arm_cq(&s, 0);
	wait_in_vain(&s);
	story_finds_nothing(&s);
}

/* The receiver is often faster than the sender's own completion. */
TEST(a_receive_is_polled_before_the_send)
{
	struct story s;

	begin_wait(&s);
	poll_receive(&s, 0);
	send_one(&s);
	arm_cq(&s, 0);
	wait_in_vain(&s);
	story_finds_nothing(&s);
}

TEST(messages_that_are_not_solicited_give_no_event)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	arm_cq(&s, 1);
	wait_in_vain(&s);
	check_hazard_text(
		&s,
		"for solicited events only, and the peer sent these without IBV_SEND_SOLICITED");
}

TEST(messages_that_are_not_solicited_come_while_it_waits)
{
	struct story s;

	begin_wait(&s);
	arm_cq(&s, 1);
	wait_begins(&s);
	send_one(&s);
	s.now += SECOND;
	story_exit(&s, PEER, SIGALRM_STATUS);
	check_hazard_text(&s, "1 completion waited in cq1 for 1.00 s while");
}

/* The event of the solicited message has come, or will come. */
TEST(one_message_is_solicited)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	send_solicited(&s);
	arm_cq(&s, 1);
	wait_in_vain(&s);
	story_finds_nothing(&s);
}

/* Completions that were polled do not count for those that are in the CQ now. */
TEST(the_solicited_message_was_polled)
{
	struct story s;

	begin_wait(&s);
	send_solicited(&s);
	poll_receive(&s, 0);
	send_one(&s);
	arm_cq(&s, 1);
	wait_in_vain(&s);
	check_hazard_text(&s, "for solicited events only");
}

TEST(it_did_not_wait_for_long)
{
	struct story s;

	begin_wait(&s);
	send_one(&s);
	arm_cq(&s, 0);
	wait_begins(&s);
	story_exit(&s, PEER, SIGALRM_STATUS);
	story_finds_nothing(&s);
}

/* What was seen of a CQ is reported when it ends. */
static void end_peer(struct story *s)
{
	story_do(s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_do(s, 1, VERB_destroy_cq, 9, 0, W(&ends[1].cq));
}

static void sleep_in_poll(struct story *s, uint64_t wr_id, uint64_t ns)
{
	send_one(s);
	arm_cq(s, 0);
	s->now += ns;
	poll_receive(s, wr_id);
}

/* The thread sleeps in poll(2), which is not in the trace, until its time-out. */
TEST(a_time_out_hides_that_no_event_comes)
{
	const struct finding *f;
	struct story s;

	begin_wait(&s);
	for (uint64_t i = 0; i < 3; i++)
		sleep_in_poll(&s, i, 50000000);
	end_peer(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_COMPL_004);
	assert_true(f->site->hazard);
	assert_string_equal(f->says,
			    "3 times, first at 2:26, a completion was in cq1 when it was armed, "
			    "which gives no event, and the thread waited without polling it again, "
			    "up to 50.0 ms.");
	story_end(&s);
}

TEST(one_long_time_out_is_enough)
{
	struct story s;

	begin_wait(&s);
	sleep_in_poll(&s, 0, SECOND);
	end_peer(&s);
	story_check(&s, NULL);
	assert_non_null(strstr(story_only(&s, RULE_COMPL_004)->says,
			       "without polling it again, up to 1.00 s."));
	story_end(&s);
}

/* The machine is busy. */
TEST(a_thread_is_held_up_once)
{
	struct story s;

	begin_wait(&s);
	sleep_in_poll(&s, 0, 1000);
	for (uint64_t i = 1; i < 4; i++)
		sleep_in_poll(&s, i, 50000000);
	end_peer(&s);
	story_finds_nothing(&s);
}

TEST(two_short_delays_are_no_pattern)
{
	struct story s;

	begin_wait(&s);
	for (uint64_t i = 0; i < 2; i++)
		sleep_in_poll(&s, i, 50000000);
	end_peer(&s);
	story_finds_nothing(&s);
}

/* Each arming comes after its message, so the event of each is that of the next message. */
TEST(a_cq_is_armed_after_each_message)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	sleep_in_poll(&s, 0, 50000000);
	send_one(&s);
	arm_cq(&s, 0);
	call = wait_begins(&s);
	story_return(&s, &call, 0);
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	poll_receive(&s, 1);
	end_peer(&s);
	check_hazard_text(&s, "2 times, first at 2:26, a completion was in cq1 when it was armed");
}

/* The thread arms as soon as it has an event, and then polls, however late. */
TEST(a_cq_is_armed_after_its_event)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	arm_cq(&s, 0);
	for (uint64_t i = 0; i < 4; i++) {
		send_one(&s);
		call = wait_begins(&s);
		story_return(&s, &call, 0);
		story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
		arm_cq(&s, 0);
		s.now += 50000000;
		poll_receive(&s, i);
	}
	end_peer(&s);
	story_finds_nothing(&s);
}

/* An event that is retrieved shows that more has come. But nothing was polled behind the arming. */
TEST(an_event_wakes_it)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	for (uint64_t i = 0; i < 4; i++) {
		arm_cq(&s, 0);
		send_one(&s);
		s.now += 50000000;
		call = wait_begins(&s);
		story_return(&s, &call, 0);
		story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
		poll_receive(&s, i);
	}
	end_peer(&s);
	check_hazard_text(&s,
			  "3 times, first at 2:32, a thread armed cq1 and waited for its event");
}

/* Other work, whatever it is, may have taken the time. */
TEST(a_thread_that_calls_other_verbs_does_not_wait)
{
	struct story s;

	begin_wait(&s);
	for (uint64_t i = 0; i < 3; i++) {
		send_one(&s);
		arm_cq(&s, 0);
		for (uint64_t k = 0; k < 2; k++)
			story_do(&s, 1, VERB_query_port, 1, 0, W(&ends[1].context), W(1),
				 W(&(struct ibv_port_attr){ 0 }), W(sizeof(struct ibv_port_attr)));
		s.now += 50000000;
		poll_receive(&s, i);
	}
	end_peer(&s);
	story_finds_nothing(&s);
}

/* poll(2) with a time-out again. */
TEST(messages_that_are_not_solicited_are_found_late)
{
	struct story s;

	begin_wait(&s);
	for (uint64_t i = 0; i < 3; i++) {
		arm_cq(&s, 1);
		send_one(&s);
		s.now += 50000000;
		poll_receive(&s, i);
	}
	end_peer(&s);
	check_hazard_text(&s, "cq1 was armed for solicited events only, and messages without");
}

/* An event comes, and the thread waits for the next; @arms, @comes: is the CQ armed, is it sent? */
static uint64_t wait_unarmed(bool arms, bool comes)
{
	struct story_call call;
	struct story s;
	uint64_t n;

	begin_wait(&s);
	arm_cq(&s, 0);
	call = wait_begins(&s);
	send_one(&s);
	story_return(&s, &call, 0);
	story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
	poll_receive(&s, 0);
	if (arms)
		arm_cq(&s, 0);
	wait_begins(&s);
	if (comes)
		send_one(&s);
	s.now += SECOND;
	story_exit(&s, PEER, SIGALRM_STATUS);
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_COMPL_004];
	assert_int_equal(s.findings->rules[RULE_COMPL_004], 0);
	if (n)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_004)->says,
				       "and not again since its event was retrieved."));
	story_end(&s);
	return n;
}

TEST(a_cq_is_armed_once)
{
	assert_int_equal(wait_unarmed(false, true), 1);
	assert_int_equal(wait_unarmed(false, false), 0); /* nothing has come */
	assert_int_equal(wait_unarmed(true, false), 0);
}

/* COMPL-002: @sent messages, of which @polled are polled before the queue pair is destroyed. */
static uint64_t count_destroy_hazards(int sent, int polled, bool in_err, int ms)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct story s;
	uint64_t hazards;
	char says[128];

	peer_channel = NULL;
	begin_story(&s);
	for (uint64_t i = 0; i < 4; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	for (int i = 0; i < sent; i++)
		send_one(&s);
	for (int i = 0; i < polled; i++)
		poll_receive(&s, (uint64_t)i);
	s.now += (uint64_t)ms * 1000000;
	if (in_err)
		story_do(&s, 1, VERB_modify_qp, 32, 0, W(&ends[1].qp), W(&err), W(IBV_QP_STATE));
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	hazards = s.findings->hazards[RULE_COMPL_002];
	snprintf(says, sizeof(says),
		 "while %d message%s in its CQ: the peer's sends had completed, the last %s "
		 "earlier, and none of their receives was polled%s.",
		 sent - polled, sent - polled == 1 ? " was" : "s were",
		 ms       ? "600.0 ms"
		 : polled ? "2000 ns"
			  : "1000 ns",
		 ms ? ", nor anything of cq1" : "");
	if (hazards)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_002)->says, says));
	story_end(&s);
	return hazards;
}

TEST(messages_are_unread_when_their_queue_pair_is_destroyed)
{
	assert_int_equal(count_destroy_hazards(3, 0, false, 0), 1);
	assert_int_equal(count_destroy_hazards(1, 0, false, 0), 0);
	assert_int_equal(count_destroy_hazards(1, 0, false, 600), 1);
	assert_int_equal(count_destroy_hazards(2, 1, false, 600), 0); /* it looks there */
	assert_int_equal(count_destroy_hazards(4, 1, false, 0), 1);
	assert_int_equal(count_destroy_hazards(3, 1, false, 0), 0); /* a goodbye, and credits */
	assert_int_equal(count_destroy_hazards(4, 4, false, 0), 0);
	assert_int_equal(count_destroy_hazards(3, 0, true, 0), 0); /* this is another finding */
}

/* Why three messages were not polled: the CQ has a channel. Returns what follows that they were. */
static const char *explain_unread(struct story *s, bool arms, uint8_t flags, bool late)
{
	static char because[256];
	const char *says;

	begin_wait(s);
	if (arms)
		arm_cq(s, 0);
	for (int i = 0; i < (late ? 2 : 4); i++)
		send_one(s);
	poll_flagged(s, 0, flags);
	for (int i = 0; i < (late ? 2 : 0); i++)
		send_one(s);
	story_do(s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(s, NULL);
	says = strstr(story_only(s, RULE_COMPL_002)->says, "was polled.");
	snprintf(because, sizeof(because), "%s", says ? says + strlen("was polled.") : "?");
	story_end(s);
	return because;
}

TEST(no_event_told_of_messages)
{
	struct story s;

	assert_string_equal(explain_unread(&s, true, EVENT_FILLED, false),
			    " The last poll of cq1, at 2:27, had an array of 1 and filled it: the "
			    "messages were behind these, and no event reports them.");
	assert_string_equal(explain_unread(&s, true, 0, false), "");
	assert_string_equal(explain_unread(&s, true, EVENT_FILLED, true), ""); /* they came later */
	assert_string_equal(explain_unread(&s, false, 0, false),
			    " cq1 has a channel, but ibv_req_notify_cq() was never called: no "
			    "completion gives an event.");
}

static void make_qp(struct story *s, int thread, struct ibv_srq *srq)
{
	struct end *end = &ends[thread];
	struct ibv_qp_init_attr attr = { .send_cq = &end->cq,
					 .recv_cq = &end->cq,
					 .srq = srq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = srq ? 0 : 8 },
					 .qp_type = IBV_QPT_RC };

	end->qp.srq = srq;
	story_do(s, thread, VERB_create_qp, 4, W(&end->qp), W(&end->pd), W(&attr));
}

static void connect_by_srq(struct story *s, struct ibv_srq *srq)
{
	make_qp(s, 1, srq);
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
}

/*
 * Process 2 receives from an SRQ; each of its @turns queue pairs is destroyed with @left of its
 * messages in the CQ, or with none.
 */
static uint64_t take_receives_along(int turns, int left, bool polled)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	static const char *const says[] = {
		"was destroyed in RTS while 1 message was in its CQ, not polled: its receive is "
		"lost to srq1, as with 1 queue pair earlier.",
		"was destroyed in RTS while 2 messages were in its CQ, not polled: their receives "
		"are lost to srq1.",
		"none of their receives was polled. Their receives are lost to srq1.",
	};
	const struct finding *f;
	struct ibv_srq srq;
	struct story s;
	uint64_t hazards;

	peer_channel = NULL;
	begin_ends(&s);
	srq = (struct ibv_srq){ .context = &ends[1].context, .pd = &ends[1].pd };
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_do(&s, 1, VERB_create_srq, 5, W(&srq), W(&ends[1].pd), W(&of_srq));
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR);
	for (uint64_t i = 0; i < 4; i++)
		story_post(&s, 1, VERB_post_srq_recv, &srq, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	for (int i = 0; i < turns; i++) {
		connect_by_srq(&s, &srq);
		for (int j = 0; j < left; j++)
			send_one(&s);
		for (int j = 0; j < left && polled; j++)
			poll_receive(&s, (uint64_t)(i + j));
		story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
		story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
		make_qp(&s, 0, NULL);
	}
	story_check(&s, NULL);
	hazards = s.findings->hazards[RULE_COMPL_002];
	if (hazards) {
		f = story_only(&s, RULE_COMPL_002);
		assert_non_null(strstr(f->says, says[left - 1]));
		assert_int_equal(!!strstr(finding_advice(f), "IBV_EVENT_QP_LAST_WQE_REACHED"),
				 left < 3);
	}
	story_end(&s);
	return hazards;
}

TEST(queue_pairs_take_receives_of_an_srq_along)
{
	assert_int_equal(take_receives_along(2, 1, false), 1);
	assert_int_equal(take_receives_along(1, 1, false), 0); /* the end of a program */
	assert_int_equal(take_receives_along(2, 1, true), 0);
	assert_int_equal(take_receives_along(1, 2, false), 1);
	assert_int_equal(take_receives_along(1, 2, true), 0);
	assert_int_equal(take_receives_along(1, 3, false), 1);
}

/* The last of four sends is signalled, and its completion shows that all have arrived. */
TEST(unsignalled_messages_are_unread)
{
	struct story s;

	peer_channel = NULL;
	begin_story(&s);
	for (uint64_t i = 0; i < 4; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	for (int i = 0; i < 3; i++)
		send_with(&s, 0);
	send_one(&s);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	assert_non_null(strstr(story_only(&s, RULE_COMPL_002)->says, "while 4 messages were"));
	story_end(&s);
}

/* The peer posts a send, sleeps @ms in poll(2), and gives up; its CQ is armed, or was. */
static void send_in_vain(bool solicited, bool event, int ms, const char *says)
{
	struct story_call call;
	struct story s;

	begin_wait(&s);
	arm_cq(&s, solicited);
	if (event) {
		call = wait_begins(&s);
		send_one(&s);
		story_return(&s, &call, 0);
		story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
		poll_receive(&s, 0);
	}
	story_post(&s, 1, VERB_post_send, &ends[1].qp, 9, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	s.now += (uint64_t)ms * 1000000;
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	if (says)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_002)->says, says));
	else
		assert_null(strstr(story_only(&s, RULE_COMPL_002)->says, "No event"));
	story_end(&s);
}

TEST(no_event_tells_of_a_send)
{
	send_in_vain(false, true, 600, ", and not again since its event was retrieved.");
	send_in_vain(true, false, 600, " for solicited events only.");
	send_in_vain(false, false, 600, NULL);
	send_in_vain(true, false, 1, NULL); /* it has not waited */
}

/* Moderated to an event for @count completions or after @us, and armed if @arms. */
static uint64_t moderate_cq(uint16_t count, uint16_t us, bool arms)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { count, us } };
	struct story s;
	uint64_t found;

	begin_wait(&s);
	story_do(&s, 1, VERB_modify_cq, 14, 0, W(&ends[1].cq), W(&attr));
	if (arms)
		arm_cq(&s, 0);
	send_one(&s);
	poll_receive(&s, 0);
	end_peer(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_COMPL_004];
	if (found)
		assert_non_null(strstr(story_only(&s, RULE_COMPL_004)->says,
				       "gives an event after 16 completions or 65.5 ms"));
	story_end(&s);
	return found;
}

TEST(events_of_a_moderated_cq_are_late)
{
	assert_int_equal(moderate_cq(16, 65535, true), 1);
	assert_int_equal(moderate_cq(16, 65535, false), 0); /* nobody waits for events */
	assert_int_equal(moderate_cq(16, 100, true), 0);
	assert_int_equal(moderate_cq(16, 0, true), 0);    /* devices differ */
	assert_int_equal(moderate_cq(1, 65535, true), 0); /* each has an event */
}

/* Empty polls of the waiting thread so far: a poll with completions has their number. */
static uint64_t nothing_found;

static void poll_one(struct story *s, uint64_t wr_id, uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s->words;

	event->empty = nothing_found += empty;
	poll_receive(s, wr_id);
}

/*
 * Each message has an event, whose thread polls @empty times in vain before it polls the next one;
 * once it polls two messages in one loop, if @loops. It @sends after it has armed the CQ, maybe for
 * @solicited events only.
 */
static uint64_t wait_blindly(uint64_t empty, bool loops, bool sends, int solicited)
{
	struct story_call call;
	struct story s;
	uint64_t found;

	nothing_found = 0;
	begin_wait(&s);
	arm_cq(&s, solicited);
	for (uint64_t i = 0; i < 4; i++) {
		if (sends && i)
			story_post(&s, 1, VERB_post_send, &ends[1].qp, i, IBV_WR_SEND,
				   (struct event_sge){ AT, 8, ends[1].mr.lkey });
		call = wait_begins(&s);
		send_one(&s);
		story_return(&s, &call, 0);
		poll_one(&s, i, i ? empty : 0);
		if (loops && i == 1) {
			story_post(&s, 1, VERB_post_recv, &ends[1].qp, 9, 0,
				   (struct event_sge){ AT, 8, ends[1].mr.lkey });
			send_one(&s);
			poll_one(&s, 9, 0);
		}
		arm_cq(&s, solicited);
	}
	end_peer(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_COMPL_004];
	assert_int_equal(s.findings->rules[RULE_COMPL_004], 0);
	story_end(&s);
	return found;
}

TEST(a_thread_arms_and_waits_without_a_poll)
{
	assert_int_equal(wait_blindly(0, false, false, 0), 1);
	/* one empty poll ends the loop, or comes after the arming */
	assert_int_equal(wait_blindly(1, true, false, 0), 1);
	assert_int_equal(wait_blindly(1, false, false, 0), 0);
	assert_int_equal(wait_blindly(2, true, false, 0), 0);
	/* the thread waits for the answer to a message that it sends later */
	assert_int_equal(wait_blindly(0, false, true, 0), 0);
	/* other messages may be in the CQ: the thread waits only for solicited ones */
	assert_int_equal(wait_blindly(0, false, false, 1), 0);
}

/* Messages come in pairs, and each event leads to some polls of one completion. */
struct pairs {
	int n;
	uint64_t polls; /* after each event */
	int64_t pause;  /* between pairs */
	uint64_t empty; /* polls that find nothing, after each event */
};

static uint64_t poll_pairs(struct pairs p)
{
	uint64_t found, wr_id = 0;
	struct story_call call;
	struct story s;

	nothing_found = 0;
	peer_channel = &channel;
	begin_story(&s);
	for (uint64_t i = 0; i < 2 * (uint64_t)p.n; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	arm_cq(&s, 0);
	for (int i = 0; i < p.n; i++) {
		send_one(&s);
		send_one(&s);
		call = wait_begins(&s);
		story_return(&s, &call, 0);
		story_do(&s, 1, VERB_ack_cq_events, 13, 0, W(&ends[1].cq), W(1));
		arm_cq(&s, 0);
		for (uint64_t k = 0; k < p.polls; k++)
			poll_one(&s, wr_id++, !k && i ? p.empty : 0);
		s.now += (uint64_t)p.pause;
	}
	end_peer(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_COMPL_004];
	assert_int_equal(s.findings->rules[RULE_COMPL_004], 0);
	story_end(&s);
	return found;
}

TEST(one_completion_is_polled_for_each_event)
{
	const struct pairs p = { .n = 4, .polls = 1, .pause = 1000000 };
	struct pairs other = p;

	assert_int_equal(poll_pairs(p), 1);
	other.n = 3; /* it has done so twice, and the last wait is not known */
	assert_int_equal(poll_pairs(other), 0);
	other = p;
	other.polls = 2;
	assert_int_equal(poll_pairs(other), 0);
	other = p;
	other.pause = 0; /* it has not slept */
	assert_int_equal(poll_pairs(other), 0);
	other = p;
	other.empty = 1; /* the CQ was empty for it, whatever the other end knew */
	assert_int_equal(poll_pairs(other), 0);
}
