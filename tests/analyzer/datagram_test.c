/* analyzer/model/datagram.c: datagrams that their receiver cannot take. */
#define STORY_OUTPUTS
#include "tests/analyzer/grams.h"
#include "tests/test.h"

/* The only hazard of one of the two rules says that; NULL: there is none. */
static void ends_with(struct story *s, enum rule_id rule, const char *says)
{
	const struct finding *found = NULL;

	story_check(s, NULL);
	for (size_t i = 0; i < s->findings->n; i++) {
		const struct finding *f = s->findings->all[i];

		if (f->rule != RULE_STATE_005 && f->rule != RULE_QUEUE_007)
			continue;
		assert_null(found);
		assert_int_equal(f->rule, rule);
		assert_true(f->site->hazard);
		found = f;
	}
	if (says && (!found || !strstr(found->says, says)))
		fail_msg("no '%s' in: %s", says, found ? found->says : "nothing");
	if (!says)
		assert_null(found);
	story_end(s);
}

TEST(a_datagram_that_fits)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, BYTES + 40);
	send_gram(&s, 0x22, QKEY, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
}

TEST(a_datagram_with_another_qkey)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, BYTES + 40);
	for (int i = 0; i < 2; i++) /* told once */
		send_gram(&s, 0x22, 0x11111111, BYTES);
	ends_with(&s, RULE_STATE_005, "sent a datagram with Q_Key 0x11111111 to qp1 of process 2");
}

/* With the highest bit it is that of the queue pair. */
TEST(a_datagram_with_the_senders_own_qkey)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, BYTES + 40);
	send_gram(&s, 0x22, OWN | 5, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
	begin_grams(&s, 0x77, 0x22, BYTES + 40);
	send_gram(&s, 0x22, OWN | 5, BYTES);
	ends_with(&s, RULE_STATE_005,
		  "with Q_Key 0x77 (its own, since remote_qkey 0x80000005 has the highest bit "
		  "set) to qp1");
}

/* The address handle is that of a multicast group; both ends, or the sender alone, are in it. */
static void join_group(struct story *s, bool both)
{
	struct ibv_ah_attr attr = { .dlid = 0xc001, .is_global = 1, .port_num = 1 };
	static union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };

	attr.grh.dgid = group;
	story_do(s, 0, VERB_destroy_ah, 8, 0, W(&handle));
	story_do(s, 0, VERB_create_ah, 7, W(&handle), W(&ends[0].pd), W(&attr));
	for (int i = 0; i <= both; i++)
		story_do(s, i, VERB_attach_mcast, 9, 0, W(&ends[i].qp), W(&group), W(0xc001));
}

static void send_to_group(struct story *s, bool both, uint32_t qkey)
{
	begin_grams(s, 0x77, 0x22, BYTES + 40);
	join_group(s, both);
	send_gram(s, 0xffffff, qkey, BYTES);
}

TEST(a_multicast_with_another_qkey)
{
	struct story s;

	send_to_group(&s, true, 0x11111111);
	ends_with(&s, RULE_STATE_005, "sent a datagram with Q_Key 0x11111111 to qp1 of process 2");
	send_to_group(&s, true, QKEY);
	ends_with(&s, RULE_COUNT, NULL);
	send_to_group(&s, true, OWN | 5);
	ends_with(&s, RULE_STATE_005,
		  "with Q_Key 0x77 (its own, since remote_qkey 0x80000005 has the highest bit "
		  "set) to qp1");
}

TEST(a_multicast_to_nobody_else)
{
	struct story s;

	send_to_group(&s, false, 0x11111111);
	ends_with(&s, RULE_COUNT, NULL);
}

/* The datagram goes to another port, or to another number. */
TEST(a_datagram_to_another)
{
	struct story s;

	begin_grams(&s, QKEY, 0x99, BYTES);
	send_gram(&s, 0x22, 5, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
	begin_grams(&s, QKEY, 0x22, BYTES);
	send_gram(&s, 0x23, 5, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
}

TEST(a_datagram_without_room_for_its_grh)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, BYTES + 39);
	for (int i = 0; i < 2; i++)
		send_gram(&s, 0x22, QKEY, BYTES);
	ends_with(&s, RULE_QUEUE_007,
		  "have up to 1063 bytes, and a datagram of 1024 that qp1 of process 1");
}

/* The second datagram may get the second receive, and the first might be lost on the way. */
TEST(a_datagram_that_fits_into_one_of_the_receives)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, BYTES);
	story_post(&s, 1, VERB_post_recv, &ends[1].qp, 2, 0,
		   (struct event_sge){ AT, BYTES + 40, 0x20 });
	send_gram(&s, 0x22, QKEY, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
}

/* The datagram is lost for another reason, or its receive will be posted later. */
TEST(a_datagram_without_a_receive)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, 0);
	send_gram(&s, 0x22, QKEY, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
}

TEST(a_datagram_to_a_queue_pair_that_is_gone)
{
	struct story s;

	begin_grams(&s, QKEY, 0x22, BYTES);
	story_do(&s, 1, VERB_destroy_qp, 8, 0, W(&ends[1].qp));
	send_gram(&s, 0x22, 5, BYTES);
	ends_with(&s, RULE_COUNT, NULL);
}

static void poll_gram(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = ends[1].qp.qp_num };
	story_event(s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void post_receives(struct story *s, int n)
{
	for (int i = 0; i < n; i++)
		story_post(s, 1, VERB_post_recv, &ends[1].qp, 2, 0,
			   (struct event_sge){ AT, BYTES + 40, 0x20 });
}

/* @n datagrams, which complete with @status, for four receives; @polled: one is, after as many. */
static uint64_t send_burst(int n, int polled, int status)
{
	struct story s;
	uint64_t found;

	gram_flags = IBV_SEND_SIGNALED;
	begin_grams(&s, QKEY, 0x22, BYTES + 40);
	post_receives(&s, 3);
	for (int i = 0; i < n; i++) {
		if (i && i == polled)
			poll_gram(&s);
		send_gram(&s, 0x22, QKEY, BYTES);
		poll_as(&s, status);
	}
	gram_flags = 0;
	post_receives(&s, n);
	story_do(&s, 1, VERB_destroy_qp, 5, 0, W(&ends[1].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_STATE_006];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_STATE_006)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "8 datagrams were sent to qp1 of process 2 (app) "
					       "between two polls of it, while 4 receives were "
					       "posted."));
	story_end(&s);
	return found;
}

TEST(more_datagrams_than_receives)
{
	assert_int_equal(send_burst(8, 0, IBV_WC_SUCCESS), 1);
	assert_int_equal(send_burst(7, 0, IBV_WC_SUCCESS), 0);
	assert_int_equal(send_burst(8, 4, IBV_WC_SUCCESS), 0);
	assert_int_equal(send_burst(8, 0, IBV_WC_LOC_PROT_ERR), 0); /* they were not sent */
}
