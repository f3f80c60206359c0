/* analyzer/facts/waits.c: what a process that was killed had been waiting for. */
#include <errno.h>
#include <signal.h>

#include "tests/analyzer/others.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

static const struct fact *killed_fact(const struct story *s)
{
	const struct fact_list *list = &s->findings->facts->list;

	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].kind == FACT_KILLED && list->all[i].process == 1)
			return &list->all[i];
	fail_msg("process 1 was not told");
	return NULL;
}

static void post_8_bytes(struct story *s, int thread, enum verb verb, uint32_t lkey)
{
	const struct event_sge sge = { AT, 8, lkey };

	story_post(s, thread, verb, &ends[thread].qp, 1, verb == VERB_post_recv ? 0 : IBV_WR_SEND,
		   sge);
}

/* The report on process 1, which @signal ends a second later; NULL: nothing. */
static void check_report(struct story *s, int signal, const char *wanted)
{
	const char *said;

	s->now += SECOND;
	story_exit(s, STORY_PID, signal);
	story_check(s, NULL);
	said = killed_fact(s)->because;
	if (wanted) {
		assert_non_null(said);
		assert_string_equal(said, wanted);
	} else {
		assert_null(said);
	}
	story_end(s);
}

TEST(a_send_for_which_there_is_no_receive)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:20, for 1.00 s; peer "
		     "process 2 (app) qp1: it had never posted a receive; process 2 called no verb "
		     "after 2:18, for 1.00 s");
}

TEST(a_receive_for_which_nothing_was_sent)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	check_report(&s, SIGINT,
		     "1 receive of qp1 outstanding, no completion polled for 1.00 s; peer "
		     "process 2 (app) qp1: 0 sends posted by the peer, 0 received by this one; "
		     "process 2 called no verb after 2:18, for 1.00 s");
}

TEST(what_is_written_is_no_message)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	s.now += SECOND;
	story_exit(&s, PEER, SIGTERM);
	story_check(&s, NULL);
	for (size_t i = 0; i < s.findings->facts->list.n; i++)
		if (s.findings->facts->list.all[i].process == 2)
			assert_string_equal(
				s.findings->facts->list.all[i].because,
				"1 receive of qp1 outstanding, no completion polled for 1.00 s; "
				"peer process 1 (app) qp1: 0 sends and 1 RDMA WRITE posted by the "
				"peer, 0 received by this one (a WRITE has no completion at this "
				"end, IBV_WR_RDMA_WRITE_WITH_IMM has), its last post "
				"ibv_post_send() 1:20, 1.00 s earlier; process 1 called no verb "
				"after 1:21, for 1.00 s");
	story_end(&s);
}

/* The process destroys its objects before it ends: what it waited for until then counts. */
TEST(a_process_that_gives_up_in_order_waited_for_the_same)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	s.now += SECOND;
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_do(&s, 0, VERB_dereg_mr, 9, 0, W(&ends[0].mr));
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->list.n, 1);
	assert_int_equal(s.findings->facts->list.all[0].kind, FACT_EXITED);
	assert_non_null(strstr(s.findings->facts->list.all[0].because,
			       "1 receive of qp1 outstanding, no completion polled for 1.00 s; "
			       "peer process 2 (app) qp1: 0 sends posted by the peer"));
	story_end(&s);
}

/* A quarter of a second is nothing. */
TEST(a_process_that_ends_at_once_has_waited_for_nothing)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	s.now += SECOND / 5;
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_null(strstr(s.findings->facts->list.all[0].because, "outstanding"));
	story_end(&s);
}

TEST(a_peer_that_was_killed_long_before)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	story_exit(&s, PEER, SIGKILL);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:20, for 1.00 s; peer "
		     "process 2 (app) qp1: killed by SIGKILL at 41.0 us");
}

TEST(a_crashed_process_waited_for_nothing)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGSEGV, NULL);
}

TEST(a_process_with_nothing_outstanding_is_only_killed)
{
	struct story s;

	begin_story(&s);
	check_report(&s, SIGTERM, NULL);
}

static const struct fact *get_only_exit(const struct story *s)
{
	const struct fact_list *list = &s->findings->facts->list;

	assert_int_equal(facts_count(s->findings->facts, FACT_EXITED), 1);
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].kind == FACT_EXITED)
			return &list->all[i];
	return NULL;
}

TEST(a_process_that_gave_up_is_reported_with_its_status)
{
	const struct fact *fact;
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	s.now += SECOND;
	story_exit(&s, STORY_PID, 3 << 8);
	story_check(&s, NULL);
	fact = get_only_exit(&s);
	assert_int_equal(fact->error, 3);
	assert_string_equal(
		fact->because,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; peer "
		"process 2 (app) qp1: 0 sends posted by the peer, 0 received by this one; "
		"process 2 called no verb after 2:18, for 1.00 s");
	assert_false(facts_are_bad(s.findings->facts));
	story_end(&s);
}

/* A tenth of a second is enough if the process polled and failed. */
TEST(a_process_that_gave_up_soon_had_a_send_outstanding)
{
	for (uint64_t polls = 99; polls <= 100; polls++) {
		const char *because;
		struct story s;

		begin_story(&s);
		post_8_bytes(&s, 0, VERB_post_send, 0x10);
		s.threads[0].head.polls[0].cq = W(&ends[0].cq);
		s.threads[0].head.polls[0].empty = polls;
		s.now += SECOND / 10;
		story_exit(&s, STORY_PID, 3 << 8);
		story_check(&s, NULL);
		because = get_only_exit(&s)->because;
		assert_int_equal(because && strstr(because, "1 send of qp1 outstanding"),
				 polls == 100);
		story_end(&s);
	}
}

TEST(the_exit_status_says_nothing_new_after_a_completion_in_error)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	poll_as(&s, IBV_WC_RETRY_EXC_ERR);
	story_exit(&s, STORY_PID, 3 << 8);
	story_check(&s, NULL);
	assert_int_equal(facts_count(s.findings->facts, FACT_EXITED), 0);
	story_end(&s);
}

TEST(a_read_that_is_never_sent)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.max_rd_atomic = 0;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_RDMA_READ 1:18, for 1.00 s "
		     "(max_rd_atomic 0: no READ and no atomic is sent); peer process 2 (app) qp1; "
		     "process 2 called no verb after 2:16, for 1.00 s");
}

static void receive_as_peer(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = 0x22 };
	story_event(s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* The arrival does not show that the completion had come, nor what the program waited for. */
TEST(a_send_that_has_arrived_is_reported_with_the_receives)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	receive_as_peer(&s);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:21, for 1.00 s; peer "
		     "process 2 (app) qp1: the peer had received these messages; 1 receive of qp1 "
		     "outstanding, no completion polled for 1.00 s; peer process 2 (app) qp1: 0 "
		     "sends posted by the peer, 0 received by this one, its 1 receive was consumed "
		     "and no other was posted, its last post ibv_post_recv() 2:20, 1.00 s earlier; "
		     "process 2 called no verb after 2:21, for 1.00 s");
}

/* The queue pair of process 1 takes its receives from @srq; another, too, if @shared. */
static void begin_with_srq(struct story *s, struct ibv_srq *srq, bool shared)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8 } };
	struct ibv_qp_init_attr attr = { .send_cq = &ends[0].cq,
					 .recv_cq = &ends[0].cq,
					 .srq = srq,
					 .cap = { .max_send_wr = 8 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp second;

	begin_ends(s);
	*srq = (struct ibv_srq){ .context = &ends[0].context, .pd = &ends[0].pd };
	story_do(s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_do(s, 0, VERB_create_srq, 31, W(srq), W(&ends[0].pd), W(&of_srq));
	ends[0].qp.srq = srq;
	second = ends[0].qp;
	second.qp_num = 0x23;
	story_do(s, 0, VERB_create_qp, 4, W(&ends[0].qp), W(&ends[0].pd), W(&attr));
	if (shared)
		story_do(s, 0, VERB_create_qp, 4, W(&second), W(&ends[0].pd), W(&attr));
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	story_post(s, 0, VERB_post_srq_recv, srq, 1, 0, (struct event_sge){ AT, 8, 0x10 });
}

TEST(a_shared_receive_queue_of_one_queue_pair)
{
	struct ibv_srq srq;
	struct story s;

	begin_with_srq(&s, &srq, false);
	check_report(
		&s, SIGTERM,
		"1 receive of srq1 outstanding, no completion polled for 1.00 s; peer process 2 "
		"(app) qp1: 0 sends posted by the peer, 0 received by this one; process 2 "
		"called no verb after 2:16, for 1.00 s");
}

TEST(a_shared_receive_queue_of_two_queue_pairs)
{
	struct ibv_srq srq;
	struct story s;

	begin_with_srq(&s, &srq, true);
	check_report(&s, SIGTERM, "1 receive of srq1 outstanding, no completion polled for 1.00 s");
}

static void post_unsignalled(struct story *s)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	wr->wr_id = 1;
	wr->opcode = IBV_WR_SEND;
	wr->flags = 0;
	wr->nsge = 1;
	*sge = (struct event_sge){ AT, 8, 0x10 };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

/* The receives were not consumed. */
TEST(receives_that_a_reset_has_dropped)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	story_do(&s, 1, VERB_modify_qp, 40, 0, W(&ends[1].qp), W(&attr), W(IBV_QP_STATE));
	connect_end(&s, 1, 0x21, 0x21, FAR);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:20, for 1.00 s; peer "
		     "process 2 (app) qp1: its RESET dropped 2 receives and no other was posted; "
		     "process 2 called no verb after 2:28, for 1.00 s");
}

/* Two were received, and the third is the first that will have a completion. */
TEST(messages_that_have_arrived_are_not_those_behind_them)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	for (int i = 0; i < 2; i++)
		post_unsignalled(&s);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	receive_as_peer(&s);
	receive_as_peer(&s);
	check_report(&s, SIGTERM,
		     "3 sends of qp1 outstanding, the oldest, IBV_WR_SEND 1:22, for 1.00 s; peer "
		     "process 2 (app) qp1: its 2 receives were consumed and no other was posted; "
		     "process 2 called no verb after 2:23, for 1.00 s");
}

static void send_as_peer(struct story *s)
{
	post_8_bytes(s, 1, VERB_post_send, 0x20);
}

static void set_error(struct story *s, int thread)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	story_do(s, thread, VERB_modify_qp, 33, 0, W(&ends[thread].qp), W(&attr), W(IBV_QP_STATE));
}

/* The peer's last request cannot arrive. */
TEST(what_is_posted_in_err_is_flushed)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	set_error(&s, 1);
	send_as_peer(&s);
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; peer process 2 "
		"(app) qp1: in ERR since 2:20, 1 send posted by the peer, 0 received by this "
		"one, its last post ibv_post_send() 2:22, 1.00 s earlier, which is flushed in "
		"ERR; process 2 called no verb after 2:22, for 1.00 s");
}

/* Each end has a receive, and has polled in vain: neither sends. */
TEST(each_end_waits_for_a_message_of_the_other)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++) {
		post_8_bytes(&s, i, VERB_post_recv, 0x10 * (uint32_t)(i + 1));
		s.threads[i].head.polls[0].cq = W(&ends[i].cq);
		s.threads[i].head.polls[0].empty = 1000;
	}
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; peer process 2 "
		"(app) qp1: 0 sends posted by the peer, 0 received by this one, its last post "
		"ibv_post_recv() 2:20, 1.00 s earlier; the peer has only receives outstanding, "
		"too (1 receive): each end waits for a message of the other; thread 1 polled "
		"cq1 empty 1000 times and never found a completion; thread 2 polled cq1 empty "
		"1000 times and never found a completion");
}

static void polls_empty(struct story *s, int thread, const struct ibv_cq *cq)
{
	s->threads[thread].head.polls[0].cq = W(cq);
	s->threads[thread].head.polls[0].empty = 1000;
}

/* The report on process 1, which is killed a second later, has @wanted. */
static void check_report_part(struct story *s, const char *wanted)
{
	const char *said;

	s->now += SECOND;
	story_exit(s, STORY_PID, SIGTERM);
	story_check(s, NULL);
	said = killed_fact(s)->because;
	if (!said || !strstr(said, wanted))
		fail_msg("no '%s' in: %s", wanted, said);
	story_end(s);
}

/* A ring of three: the peer waits for the third process, so it is not this end's message. */
static void peer_waits_at_another_cq(bool ends_first)
{
	struct ibv_cq other;
	struct story s;

	begin_story(&s);
	other = ends[1].cq;
	story_do(&s, 1, VERB_create_cq, 3, W(&other), W(&ends[1].context), W(16), W(0), W(0), W(0));
	for (int i = 0; i < 2; i++)
		post_8_bytes(&s, i, VERB_post_recv, 0x10 * (uint32_t)(i + 1));
	polls_empty(&s, 0, &ends[0].cq);
	polls_empty(&s, 1, &other);
	s.now += SECOND;
	if (ends_first)
		story_exit(&s, PEER, SIGTERM);
	s.now -= SECOND;
	check_report_part(
		&s, "too (1 receive), and waits, but not for cq1, where they complete; thread "
		    "1 polled");
}

TEST(a_peer_that_waits_at_another_cq_does_not_wait_for_this_end)
{
	peer_waits_at_another_cq(false);
	peer_waits_at_another_cq(true);
}

static void create_second(struct story *s, int thread, struct ibv_qp_init_attr *attr)
{
	others[thread] = ends[thread];
	others[thread].qp.qp_num = 0x31 + (uint32_t)thread;
	others[thread].qp.send_cq = attr->send_cq;
	others[thread].qp.recv_cq = attr->recv_cq;
	story_do(s, thread, VERB_create_qp, 4, W(&others[thread].qp), W(&ends[thread].pd), W(attr));
}

/* Process 2 has an SRQ for two queue pairs, whose peers are those of process 1. */
static void begin_shared(struct story *s, struct ibv_srq *srq)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8 } };
	struct ibv_qp_init_attr attr = { .send_cq = &ends[1].cq,
					 .recv_cq = &ends[1].cq,
					 .srq = srq,
					 .cap = { .max_send_wr = 8 },
					 .qp_type = IBV_QPT_RC };

	begin_ends(s);
	*srq = (struct ibv_srq){ .context = &ends[1].context, .pd = &ends[1].pd };
	story_do(s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_do(s, 1, VERB_create_srq, 31, W(srq), W(&ends[1].pd), W(&of_srq));
	ends[1].qp.srq = srq;
	story_do(s, 1, VERB_create_qp, 4, W(&ends[1].qp), W(&ends[1].pd), W(&attr));
	create_second(s, 1, &attr);
	attr = (struct ibv_qp_init_attr){ .send_cq = &ends[0].cq,
					  .recv_cq = &ends[0].cq,
					  .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					  .qp_type = IBV_QPT_RC };
	create_second(s, 0, &attr);
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	connect_qp(s, 0, &others[0], 0x32, 0x22, FAR);
	connect_qp(s, 1, &others[1], 0x31, 0x21, FAR);
	register_as(s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(s, 1, &ends[1].mr, FAR);
}

/* One client has used up the receives of all; @ends_first: the server is killed just before. */
static void shared_receives_are_used_up(bool ends_first)
{
	struct ibv_srq srq;
	struct story s;

	begin_shared(&s, &srq);
	story_post(&s, 1, VERB_post_srq_recv, &srq, 1, 0, (struct event_sge){ AT, 8, 0x20 });
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	poll_as(&s, IBV_WC_SUCCESS);
	story_post(&s, 0, VERB_post_send, &others[0].qp, 1, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, 0x10 });
	polls_empty(&s, 0, &ends[0].cq);
	s.now += SECOND;
	if (ends_first)
		story_exit(&s, PEER, SIGTERM);
	s.now -= SECOND;
	check_report_part(&s,
			  "it receives from srq1, to which 1 receive was posted for 2 messages to "
			  "its 2 queue pairs");
}

TEST(receives_of_an_srq_that_another_queue_pair_has_used_up)
{
	shared_receives_are_used_up(false);
	shared_receives_are_used_up(true);
}

/* Two connections, each with its own CQ: it waits for messages of the one whose CQ it polls. */
static void polls_cq_of(int which, const char *wanted)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_cq cq;
	struct story s;

	begin_story(&s);
	cq = ends[0].cq;
	story_do(&s, 0, VERB_create_cq, 3, W(&cq), W(&ends[0].context), W(16), W(0), W(0), W(0));
	for (int i = 0; i < 2; i++) {
		attr.send_cq = attr.recv_cq = i ? &ends[1].cq : &cq;
		create_second(&s, i, &attr);
	}
	connect_qp(&s, 0, &others[0], 0x32, 0x22, FAR);
	connect_qp(&s, 1, &others[1], 0x31, 0x21, FAR);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	story_post(&s, 0, VERB_post_recv, &others[0].qp, 1, 0, (struct event_sge){ AT, 8, 0x10 });
	polls_empty(&s, 0, which ? &cq : &ends[0].cq);
	check_report_part(&s, wanted);
}

TEST(the_receives_whose_cq_is_polled_are_awaited)
{
	polls_cq_of(0,
		    "1 receive of qp1 outstanding, no completion polled for 1.00 s; peer process "
		    "2 (app) qp1: 0 sends");
	polls_cq_of(1,
		    "1 receive of qp2 outstanding, no completion polled for 1.00 s; peer process "
		    "2 (app) qp2: 0 sends");
}

/* Process 1 destroys its queue pair, and polls on for its send. */
TEST(a_destroy_drops_the_completion_of_a_send)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	polls_empty(&s, 0, &ends[0].cq);
	check_report_part(&s,
			  "qp1 was destroyed by 1:21 with 1 signalled send outstanding: a destroy "
			  "drops its completion; thread 1 polled cq1 empty 1000 times");
}

/* The message of process 1 had come when process 2 destroyed its queue pair. */
TEST(a_destroy_drops_a_message_that_was_not_polled)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	poll_as(&s, IBV_WC_SUCCESS);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	polls_empty(&s, 1, &ends[1].cq);
	s.now += SECOND;
	story_exit(&s, PEER, SIGTERM);
	s.now -= SECOND;
	check_report_part(&s,
			  ", with 1 message of this end that it had not polled, 0 sends posted by");
}

/* The program's requests fail only because it has moved the queue pair to ERR. */
TEST(an_exit_after_flushes)
{
	struct story s;

	begin_story(&s);
	set_error(&s, 0);
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_string_equal(s.findings->facts->list.all[0].because,
			    "none of its recorded verbs failed; qp1 was moved to ERR by "
			    "ibv_modify_qp() at 1:20, which flushes its requests: see its output");
	story_end(&s);
}

/* The recorder has seen process 1 in @state, calling no verb. */
static void says_of_its_state(const char *state, const char *wchan, const char *wanted)
{
	struct stored_sample sample = { .doing = "nothing", .state = state, .wchan = wchan };
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	sample.thread = s.threads[0].id;
	sample.time = (int64_t)s.now + SECOND / 10;
	assert_int_equal(writer_store_sample(s.writer, &sample), 0);
	check_report_part(&s, wanted);
}

TEST(a_process_that_calls_no_verb_is_described)
{
	says_of_its_state("T", NULL,
			  "it was stopped by a signal from 100.0 ms on, for 900.0 ms; "
			  "1 receive of qp1 outstanding, no");
	says_of_its_state("t", NULL, "it was stopped by a debugger from 100.0 ms on, for ");
	says_of_its_state("R", NULL, "it called no verb for 1.00 s: it was running; 1 receive of ");
	says_of_its_state("S", "futex_do_wait",
			  "it called no verb for 1.00 s: it slept in the kernel, in futex_do_wait; "
			  "1 receive of ");
	says_of_its_state("S", NULL, "1 receive of qp1 outstanding, no");
}

/* A hub: it waits for a message of any of its peers. */
TEST(a_peer_may_wait_for_other_queue_pairs_as_well)
{
	struct story s;

	begin_story(&s);
	connect_others(&s);
	for (int i = 0; i < 2; i++) {
		post_8_bytes(&s, i, VERB_post_recv, 0x10 * (uint32_t)(i + 1));
		polls_empty(&s, i, &ends[i].cq);
	}
	story_post(&s, 1, VERB_post_recv, &others[1].qp, 1, 0, (struct event_sge){ AT, 8, 0x20 });
	check_report_part(&s,
			  "too (1 receive): each end waits for a message of the other, the peer "
			  "also for one to 1 other queue pair; thread 1 polled");
}

/* This end has a receive, and does not look at its CQ: perhaps it waits for something else. */
TEST(an_end_that_does_not_poll_does_not_wait_for_a_message)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_8_bytes(&s, i, VERB_post_recv, 0x10 * (uint32_t)(i + 1));
	s.threads[1].head.polls[0].cq = W(&ends[1].cq);
	s.threads[1].head.polls[0].empty = 1000;
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; peer process 2 "
		"(app) qp1: 0 sends posted by the peer, 0 received by this one, its last post "
		"ibv_post_recv() 2:20, 1.00 s earlier; the peer has only receives outstanding, "
		"too (1 receive); thread 2 "
		"polled cq1 empty 1000 times and never found a completion");
}

/* Only messages count: a completed READ notifies neither end. */
TEST(what_is_read_is_no_message)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++) {
		post_8_bytes(&s, i, VERB_post_recv, 0x10 * (uint32_t)(i + 1));
		s.threads[i].head.polls[0].cq = W(&ends[i].cq);
		s.threads[i].head.polls[0].empty = 1000;
	}
	s.now += SECOND;
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	assert_non_null(strstr(killed_fact(&s)->because,
			       "outstanding, too (1 receive): each end waits for a message"));
	story_end(&s);
}

static void arm_as_peer(struct story *s, int solicited_only)
{
	struct event_notify *event = (struct event_notify *)s->words;

	event->cq = W(&ends[1].cq);
	event->solicited_only = solicited_only;
	story_event(s, 1, EVENT_NOTIFY, sizeof(*event) / 8);
}

/* The peer has a channel; a message has come to it, before or after it armed its CQ. */
static void let_a_message_come(struct story *s, bool armed_before, int solicited_only)
{
	static struct ibv_comp_channel channel = { .fd = 5 };

	peer_channel = &channel;
	begin_story(s);
	peer_channel = NULL;
	post_8_bytes(s, 1, VERB_post_recv, 0x20);
	if (armed_before)
		arm_as_peer(s, solicited_only);
	post_8_bytes(s, 0, VERB_post_send, 0x10);
	poll_as(s, IBV_WC_SUCCESS);
	if (!armed_before)
		arm_as_peer(s, solicited_only);
}

/* The process may wait in poll(2), which is not in the trace. */
static void says_of_its_cq(struct story *s, const char *wanted)
{
	const struct fact_list *list;

	s->now += SECOND;
	story_exit(s, PEER, 3 << 8);
	story_check(s, NULL);
	list = &s->findings->facts->list;
	assert_int_equal(list->n, 1);
	if (!strstr(list->all[0].because, wanted))
		fail_msg("no '%s' in: %s", wanted, list->all[0].because);
	story_end(s);
}

static const struct receiver {
	const char *name;
	struct end *pair;
	const char *said;
} receivers[] = {
	{ "the_first_queue_pair_has_a_message", ends, "1 receive of qp1 outstanding, " },
	{ "the_second_queue_pair_has_a_message", others, "1 receive of qp2 outstanding, " },
};

static void one_of_two_queue_pairs_has_a_message(void **state)
{
	const struct receiver *receiver = *state;
	const struct event_sge there = { AT, 8, 0x20 }, here = { AT, 8, 0x10 };
	struct end *pair = receiver->pair;
	struct story s;

	begin_story(&s);
	connect_others(&s);
	story_post(&s, 1, VERB_post_recv, &ends[1].qp, 1, 0, there);
	story_post(&s, 1, VERB_post_recv, &others[1].qp, 2, 0, there);
	story_post(&s, 0, VERB_post_send, &pair[0].qp, 1, IBV_WR_SEND, here);
	story_poll(&s, 0, &ends[0].cq, 1, IBV_WC_SUCCESS, pair[0].qp.qp_num);
	says_of_its_cq(&s, receiver->said);
}
TEST_ROWS(receivers, one_of_two_queue_pairs_has_a_message);

TEST(a_cq_that_was_armed_after_its_completion_came)
{
	struct story s;

	let_a_message_come(&s, false, 0);
	says_of_its_cq(&s, "; 1 completion had come to cq1 and was not polled; it was armed after "
			   "that, by 2:23: a completion already in the CQ gives no event");
}

TEST(a_cq_that_was_armed_for_solicited_events)
{
	struct story s;

	let_a_message_come(&s, true, 1);
	says_of_its_cq(&s, "; it was armed by 2:23 for solicited events only, and no message had "
			   "IBV_SEND_SOLICITED");
}

TEST(a_cq_that_was_armed_in_time)
{
	struct story s;

	let_a_message_come(&s, true, 0);
	says_of_its_cq(&s, "; it was armed by 2:23 before that: its event was not retrieved");
}

/* The sender does not ask for a completion: that the message has come is not known. */
static void send_to_channel(struct story *s)
{
	static struct ibv_comp_channel channel = { .fd = 5 };

	peer_channel = &channel;
	begin_story(s);
	peer_channel = NULL;
	post_8_bytes(s, 1, VERB_post_recv, 0x20);
	post_8_bytes(s, 0, VERB_post_send, 0x10);
	s->now += 1000;
	arm_as_peer(s, 0);
}

TEST(a_cq_that_was_armed_after_a_message_was_sent)
{
	struct story s;

	send_to_channel(&s);
	says_of_its_cq(&s, " after the peer's last post, and not polled again: a completion that "
			   "was in the CQ by then gives no event");
}

TEST(a_cq_that_was_polled_after_a_message_was_sent)
{
	struct story s;

	send_to_channel(&s);
	s.threads[1].head.polls[0].cq = W(&ends[1].cq);
	s.threads[1].head.polls[0].empty = 1;
	says_of_its_cq(&s, "cq1 was armed by 2:23; process");
}

/* A message was received; the next was sent @before the CQ was armed; @empty polls of it. */
static void send_again_to_channel(struct story *s, int64_t before, uint64_t empty)
{
	static struct ibv_comp_channel channel = { .fd = 5 };

	peer_channel = &channel;
	begin_story(s);
	peer_channel = NULL;
	post_8_bytes(s, 1, VERB_post_recv, 0x20);
	post_8_bytes(s, 1, VERB_post_recv, 0x20);
	post_8_bytes(s, 0, VERB_post_send, 0x10);
	((struct event_wc *)((struct event_poll *)s->words + 1))->opcode = IBV_WC_RECV;
	story_poll(s, 1, &ends[1].cq, 1, IBV_WC_SUCCESS, ends[1].qp.qp_num); /* 2:24 */
	post_8_bytes(s, 0, VERB_post_send, 0x10);
	s->threads[1].head.polls[0].cq = W(&ends[1].cq);
	s->threads[1].head.polls[0].empty = empty;
	s->now += before;
	arm_as_peer(s, 0);
}

/* The poll that ended the loop: a poll after the arming would have found the message. */
TEST(a_cq_that_was_emptied_before_a_message_and_armed_after_it)
{
	struct story s;

	send_again_to_channel(&s, SECOND / 5, 1);
	says_of_its_cq(&s, "; cq1 was armed by 2:25, 200.0 ms after the peer's last post, and no "
			   "completion was polled since: a completion that was in the CQ by then "
			   "gives no event");
}

TEST(a_cq_that_was_polled_since_it_was_armed_or_soon)
{
	struct story s;

	send_again_to_channel(&s, SECOND / 5, 2);
	says_of_its_cq(&s, "; cq1 was armed by 2:25; thread 2 polled cq1 empty 2 times");
	send_again_to_channel(&s, 1000, 1);
	says_of_its_cq(&s, "; cq1 was armed by 2:25; process");
}

/* The peer has a channel, and has sent a message whose completion it waits for. */
static void send_from_peer(struct story *s)
{
	static struct ibv_comp_channel channel = { .fd = 5 };

	peer_channel = &channel;
	begin_story(s);
	peer_channel = NULL;
	post_8_bytes(s, 1, VERB_post_send, 0x20);
}

TEST(a_cq_that_was_never_armed)
{
	struct story s;

	send_from_peer(&s);
	says_of_its_cq(&s, "; cq1 was never armed: its channel gets no event");
}

TEST(a_cq_whose_sends_are_not_solicited)
{
	struct story s;

	send_from_peer(&s);
	arm_as_peer(&s, 1);
	says_of_its_cq(&s, "; cq1 was armed by 2:23 for solicited events only");
}

TEST(a_cq_that_was_armed_after_the_send)
{
	struct story s;

	send_from_peer(&s);
	s.now += 1000;
	arm_as_peer(&s, 0);
	says_of_its_cq(&s, "after this receive was posted, and not polled again: a completion that "
			   "was in the CQ by then gives no event");
}

/* One empty poll may have followed the arming. */
TEST(a_cq_that_was_polled_is_not_reported_as_armed_late)
{
	struct story s;

	send_from_peer(&s);
	arm_as_peer(&s, 0);
	s.threads[1].head.polls[0].cq = W(&ends[1].cq);
	s.threads[1].head.polls[0].empty = 1;
	s.now += SECOND;
	story_exit(&s, PEER, 3 << 8);
	story_check(&s, NULL);
	assert_null(strstr(s.findings->facts->list.all[0].because, "armed"));
	story_end(&s);
}

static void begin_story_of(struct story *s, int type)
{
	end_types[0] = end_types[1] = type;
	if (type == IBV_QPT_UD)
		begin_ends(s);
	else
		begin_story(s);
	end_types[0] = end_types[1] = IBV_QPT_RC;
}

/* Two queue pairs for datagrams, which have no peer. */
static void begin_datagrams(struct story *s)
{
	struct ibv_qp_attr attr = { .port_num = 1 };

	begin_story_of(s, IBV_QPT_UD);
	for (int i = 0; i < 2; i++) {
		attr.qp_state = IBV_QPS_INIT;
		story_do(s, i, VERB_modify_qp, 30, 0, W(&ends[i].qp), W(&attr),
			 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
		attr.qp_state = IBV_QPS_RTR;
		story_do(s, i, VERB_modify_qp, 31, 0, W(&ends[i].qp), W(&attr), W(IBV_QP_STATE));
		attr.qp_state = IBV_QPS_RTS;
		story_do(s, i, VERB_modify_qp, 32, 0, W(&ends[i].qp), W(&attr),
			 W(IBV_QP_STATE | IBV_QP_SQ_PSN));
	}
}

static void receive_into(struct story *s, uint32_t bytes)
{
	const struct event_sge sge = { AT, bytes, 0x10 };

	story_post(s, 0, VERB_post_recv, &ends[0].qp, 1, 0, sge);
}

static void send_datagram_to(struct story *s, uint64_t ah, uint32_t number, uint32_t bytes)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(ud + 1);

	event->object = W(&ends[1].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	wr->wr_id = 1;
	wr->opcode = IBV_WR_SEND;
	wr->flags = IBV_SEND_SIGNALED;
	wr->nsge = 1;
	wr->parts = WR_UD;
	*ud = (struct event_ud){ .ah = ah, .remote_qpn = number };
	*sge = (struct event_sge){ AT, bytes, 0x20 };
	story_event(s, 1, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*ud) + sizeof(*sge)) / 8);
}

/* Process 2 sends a datagram of @bytes to process 1. */
static void send_datagram(struct story *s, uint32_t bytes)
{
	send_datagram_to(s, 0x9000, 0x21, bytes);
}

TEST(a_datagram_that_the_grh_makes_too_long)
{
	struct story s;

	begin_datagrams(&s);
	receive_into(&s, 64);
	send_datagram(&s, 64);
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; process 2 (app) "
		"qp1 has sent 1 datagram to this queue pair, which received 0; the last, of 64 "
		"bytes and the 40 of the GRH, did not fit: the receives have 64");
}

TEST(a_datagram_that_had_room)
{
	struct story s;

	begin_datagrams(&s);
	receive_into(&s, 104);
	send_datagram(&s, 64);
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; process 2 (app) "
		"qp1 has sent 1 datagram to this queue pair, which received 0");
}

TEST(no_datagram)
{
	struct story s;

	begin_datagrams(&s);
	receive_into(&s, 104);
	check_report(&s, SIGTERM,
		     "1 receive of qp1 outstanding, no completion polled for 1.00 s; no process in "
		     "this trace has sent to this queue pair");
}

/* Process 1 is in a multicast group, to which process 2 may send. */
static void join_group(struct story *s, bool sends)
{
	static union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };
	struct ibv_ah_attr attr = { .dlid = 0xc001, .is_global = 1, .port_num = 1 };
	static struct ibv_ah handle;

	story_do(s, 0, VERB_attach_mcast, 9, 0, W(&ends[0].qp), W(&group), W(0xc001));
	if (!sends)
		return;
	handle = (struct ibv_ah){ .context = &ends[1].context, .pd = &ends[1].pd };
	attr.grh.dgid = group;
	story_do(s, 1, VERB_create_ah, 7, W(&handle), W(&ends[1].pd), W(&attr));
	send_datagram_to(s, W(&handle), 0xffffff, 64);
}

TEST(a_datagram_to_its_multicast_group)
{
	struct story s;

	begin_datagrams(&s);
	receive_into(&s, 104);
	join_group(&s, true);
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; process 2 (app) "
		"qp1 has sent 1 datagram to its multicast group, and it received 0");
	begin_datagrams(&s);
	receive_into(&s, 104);
	join_group(&s, false); /* others may have, who are not in the trace */
	check_report(&s, SIGTERM, "1 receive of qp1 outstanding, no completion polled for 1.00 s");
}

TEST(a_message_of_uc_that_is_too_long)
{
	const struct event_sge sge = { AT, 65, 0x20 };
	struct story s;

	begin_story_of(&s, IBV_QPT_UC);
	receive_into(&s, 64);
	story_post(&s, 1, VERB_post_send, &ends[1].qp, 1, IBV_WR_SEND, sge);
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; peer process 2 "
		"(app) qp1: 1 send posted by the peer, 0 received by this one, its last post "
		"ibv_post_send() 2:20, 1.00 s earlier; the last, of 65 bytes, did not fit: the "
		"receives have 64; process 2 called no verb after 2:20, for 1.00 s");
}

#define OUTSIDE                                                                                  \
	"qp1 was still in INIT, without an ibv_modify_qp() to RTR with the number of its peer: " \
	"the data that programs exchange before it (host, TCP port, numbers) is not in the trace"

/* The process ends before its queue pair was connected, with receives posted. */
static void end_unconnected(struct story *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	begin_ends(s);
	story_do(s, 0, VERB_modify_qp, 30, 0, W(&ends[0].qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	receive_into(s, 64);
}

TEST(a_process_killed_unconnected_waited_for_its_peer)
{
	struct story s;

	end_unconnected(&s);
	check_report(&s, SIGTERM, OUTSIDE);
}

TEST(giving_up_unconnected_follows_no_failed_verb)
{
	struct story s;

	end_unconnected(&s);
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_string_equal(get_only_exit(&s)->because,
			    "none of its recorded verbs failed; " OUTSIDE ": see its output");
	story_end(&s);
}

TEST(a_refused_connection_is_reported_to_its_process)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct story_call call;
	struct story s;

	a_qp.state = IBV_QPS_INIT;
	story_with_qp(&s);
	call = story_call(&s, 0, VERB_modify_qp, 30, W(&a_qp), W(&attr), W(IBV_QP_STATE));
	story_return(&s, &call, EINVAL);
	s.now += SECOND;
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	assert_string_equal(killed_fact(&s)->because,
			    "qp1 was still in INIT, since ibv_modify_qp(qp1 -> RTR), 1:10, failed "
			    "with EINVAL");
	story_end(&s);
	a_qp.state = IBV_QPS_RTS;
}

/* Nothing had come yet, which programs expect, and few end because of it. */
TEST(giving_up_after_eagain_is_reported)
{
	static struct ibv_comp_channel channel = { .fd = 5 };
	struct story_call call;
	struct story s;

	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	call = story_call(&s, 1, VERB_get_cq_event, 9, W(&channel), W(0), W(0));
	story_fails(&s, &call, (uint64_t)-1, EAGAIN);
	story_exit(&s, PEER, 1 << 8);
	story_check(&s, NULL);
	assert_string_equal(get_only_exit(&s)->because,
			    "its last failed verb: ibv_get_cq_event() = EAGAIN at 2:22; many "
			    "programs expect this failure, this one may not: see its output");
	story_end(&s);
}

/* In SQD nothing is sent. */
TEST(a_send_that_was_posted_after_a_drain)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	story_do(&s, 0, VERB_modify_qp, 40, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:22, for 1.00 s (in SQD "
		     "since 1:20: it sends nothing until it is moved to RTS); peer process 2 (app) "
		     "qp1; process 2 called no verb after 2:20, for 1.00 s");
}

TEST(giving_up_connected_has_its_own_reason)
{
	struct story s;

	begin_story(&s);
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_string_equal(get_only_exit(&s)->because,
			    "none of its recorded verbs failed: see its output");
	story_end(&s);
}

static void move_to(struct story *s, int thread, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	story_do(s, thread, VERB_modify_qp, 34, 0, W(&ends[thread].qp), W(&attr), W(IBV_QP_STATE));
}

TEST(a_peer_that_had_ended)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	story_exit(&s, PEER, 3 << 8);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:20, for 1.00 s; "
		     "peer process 2 (app) qp1: its process had ended with status 3 at 41.0 "
		     "us");
}

TEST(a_peer_that_had_destroyed_its_queue_pair)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	send_as_peer(&s);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	check_report(
		&s, SIGTERM,
		"1 receive of qp1 outstanding, no completion polled for 1.00 s; peer process 2 "
		"(app) qp1: destroyed by 2:21 at 41.0 us, with 1 send outstanding, whose "
		"completions it had not polled, 1 send posted by the peer, 0 received by this "
		"one, its last post ibv_post_send() 2:20, 1.00 s earlier; process 2 called no "
		"verb after 2:21, for 1.00 s");
}

TEST(a_peer_that_had_destroyed_its_queue_pair_and_ended)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	story_do(&s, 1, VERB_destroy_qp, 9, 0, W(&ends[1].qp));
	story_exit(&s, PEER, 0);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:20, for 1.00 s; "
		     "peer process 2 (app) qp1: destroyed by 2:20 at 40.0 us, it had never "
		     "posted a receive");
}

TEST(a_peer_that_was_not_connected_to_the_end)
{
	struct ibv_qp_attr attr = ends[1].attr;
	struct story s;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	story_do(&s, 1, VERB_modify_qp, 30, 0, W(&ends[1].qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = 0x21;
	attr.ah_attr.dlid = 0x21;
	attr.ah_attr.port_num = 1;
	story_do(&s, 1, VERB_modify_qp, 31, 0, W(&ends[1].qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	post_8_bytes(&s, 0, VERB_post_recv, 0x10);
	check_report(&s, SIGTERM,
		     "1 receive of qp1 outstanding, no completion polled for 1.00 s; peer "
		     "process 2 (app) qp1: in RTR: it sends only from RTS on, 0 sends "
		     "posted by the peer, 0 received by this one; process 2 called no verb "
		     "after 2:14, for 1.00 s");
}

TEST(a_send_that_waits_without_a_limit)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.rnr_retry = 7;
	ends[0].attr.timeout = 0;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:18, for 1.00 s "
		     "(timeout 0: without a limit); peer process 2 (app) qp1: it had never "
		     "posted a receive (rnr_retry 7: the send waits for the next without a "
		     "limit); process 2 called no verb after 2:16, for 1.00 s");
}

TEST(a_send_that_waits_for_a_dead_peer_without_a_limit)
{
	struct story s;

	begin_ends(&s);
	ends[0].attr.rnr_retry = 7;
	ends[0].attr.timeout = 0;
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	story_exit(&s, PEER, SIGKILL);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:18, for 1.00 s "
		     "(timeout 0: without a limit); peer process 2 (app) qp1: killed by SIGKILL "
		     "at 35.0 us, it had never posted a receive");
}

TEST(a_peer_that_posted_nothing_after_its_reset)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	receive_as_peer(&s);
	poll_as(&s, IBV_WC_SUCCESS);
	move_to(&s, 1, IBV_QPS_RESET);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:22, for 1.00 s; "
		     "peer process 2 (app) qp1: no receive was posted since its RESET; "
		     "process 2 called no verb after 2:28, for 1.00 s");
}

TEST(a_queue_that_was_drained)
{
	struct story s;

	begin_story(&s);
	move_to(&s, 0, IBV_QPS_SQD);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	check_report(&s, SIGTERM,
		     "1 send of qp1 outstanding, the oldest, IBV_WR_SEND 1:22, for 1.00 s "
		     "(in SQD since 1:20: it sends nothing until it is moved to RTS); peer "
		     "process 2 (app) qp1: it had never posted a receive; process 2 called "
		     "no verb after 2:18, for 1.00 s");
}

/* No thread can get the events of this CQ: the program waits for those of another CQ's channel. */
TEST(a_cq_without_a_channel_that_was_armed)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	arm_as_peer(&s, 0);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	poll_as(&s, IBV_WC_SUCCESS);
	says_of_its_cq(&s,
		       "; 1 completion had come to cq1 and was not polled; it was armed by 2:21, "
		       "but created without a channel: it gives no event");
}

TEST(a_cq_without_a_channel_that_was_not_armed)
{
	struct story s;

	begin_story(&s);
	post_8_bytes(&s, 1, VERB_post_recv, 0x20);
	post_8_bytes(&s, 0, VERB_post_send, 0x10);
	poll_as(&s, IBV_WC_SUCCESS);
	says_of_its_cq(&s, "; 1 completion had come to cq1 and was not polled; peer process");
}
