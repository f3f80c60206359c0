/* analyzer/model/datagram.c: datagrams that their receiver cannot take. */
#include "tests/analyzer/grams.h"
#include "tests/test.h"

enum { QKEY = 0x1111, OWN = 1u << 31, BYTES = 1024 };

static struct ibv_ah handle;

/* Up to RTS; @qkey is the queue pair's own. */
static void ready_end(struct story *s, int thread, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };
	const uint64_t qp = W(&ends[thread].qp);

	story_do(s, thread, VERB_modify_qp, 30, 0, qp, W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	story_do(s, thread, VERB_modify_qp, 31, 0, qp, W(&attr), W(IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	story_do(s, thread, VERB_modify_qp, 32, 0, qp, W(&attr), W(IBV_QP_STATE | IBV_QP_SQ_PSN));
}

/* Two processes; the first has an address handle to @lid, the second a receive. */
static void begin_grams(struct story *s, uint32_t own_qkey, uint16_t lid, uint32_t receive)
{
	struct ibv_ah_attr attr = { .dlid = lid, .port_num = 1 };

	end_types[0] = end_types[1] = IBV_QPT_UD;
	begin_ends(s);
	end_types[0] = end_types[1] = IBV_QPT_RC;
	ready_end(s, 0, own_qkey);
	ready_end(s, 1, QKEY);
	handle = (struct ibv_ah){ .context = &ends[0].context, .pd = &ends[0].pd };
	story_do(s, 0, VERB_create_ah, 7, W(&handle), W(&ends[0].pd), W(&attr));
	if (receive)
		story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0,
			   (struct event_sge){ AT, receive, 0x20 });
}

static void send_gram(struct story *s, uint32_t number, uint32_t qkey, uint32_t length)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(ud + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 1, .opcode = IBV_WR_SEND, .nsge = 1, .parts = WR_UD };
	*ud = (struct event_ud){ .ah = W(&handle), .remote_qpn = number, .remote_qkey = qkey };
	*sge = (struct event_sge){ AT, length, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*ud) + sizeof(*sge)) / 8);
}

/* The only hazard, of one of the two rules, has this text; NULL: there is none. */
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
	ends_with(&s, RULE_STATE_005, "with Q_Key 0x77 to");
}

/* It goes elsewhere: to another port, or another number. */
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

/* It is lost for another reason, or its receive is still to come. */
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
