/* analyzer/model/astray.c, STATE-005: datagrams to a number that is not their receiver's. */
#include "tests/analyzer/grams.h"
#include "tests/test.h"

static union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };

/* The sender's queue pair is destroyed; the only hazard of STATE-005 says this; NULL: none. */
static void ends_as(struct story *s, const char *says)
{
	story_do(s, 0, VERB_destroy_qp, 20, 0, W(&ends[0].qp));
	story_check(s, NULL);
	assert_int_equal(s->findings->hazards[RULE_STATE_005], says ? 1 : 0);
	for (size_t i = 0; says && i < s->findings->n; i++)
		if (s->findings->all[i]->rule == RULE_STATE_005 &&
		    !strstr(s->findings->all[i]->says, says))
			fail_msg("no '%s' in: %s", says, s->findings->all[i]->says);
	story_end(s);
}

static void send_grams(struct story *s, int n, uint32_t number)
{
	for (int i = 0; i < n; i++)
		send_gram(s, number, QKEY, BYTES);
}

static void begin_far(struct story *s)
{
	begin_grams(s, QKEY, 0x22, BYTES + 40);
}

/* Address handles of a multicast group, from now on. */
static void address_group(struct story *s, uint8_t last)
{
	struct ibv_ah_attr attr = { .dlid = 0xc001, .is_global = 1, .port_num = 1 };

	attr.grh.dgid = group;
	attr.grh.dgid.raw[15] = last;
	story_do(s, 0, VERB_destroy_ah, 8, 0, W(&handle));
	story_do(s, 0, VERB_create_ah, 7, W(&handle), W(&ends[0].pd), W(&attr));
}

static void join_group(struct story *s)
{
	story_do(s, 1, VERB_attach_mcast, 9, 0, W(&ends[1].qp), W(&group), W(0xc001));
}

static void receive_one(struct story *s, int thread)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[thread].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1,
				 .opcode = IBV_WC_RECV,
				 .qp_num = ends[thread].qp.qp_num };
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

TEST(a_number_in_the_other_byte_order)
{
	static const uint32_t numbers[] = { 0x22000000, 0x220000, 0 };
	struct story s;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		begin_far(&s);
		send_grams(&s, 2, numbers[i]);
		ends_as(&s, "in the other byte order 0x22 is the number of qp1 of process 2");
	}
}

TEST(a_number_of_another_type)
{
	struct story s;

	end_types[0] = IBV_QPT_UD;
	begin_ends(&s);
	end_types[0] = IBV_QPT_RC;
	ready_end(&s, 0, QKEY);
	make_ah(&s, 0x22);
	send_grams(&s, 1, 0x22);
	ends_as(&s, "to QP number 0x22, which belongs to qp1 of process 2 (app) of type RC");
}

/* Process 2 makes another queue pair, 0x33. */
static void make_again(struct story *s)
{
	static struct ibv_qp again;
	struct ibv_qp_init_attr attr = { .send_cq = &ends[1].cq,
					 .recv_cq = &ends[1].cq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_UD };

	again = ends[1].qp;
	again.qp_num = 0x33;
	story_do(s, 1, VERB_create_qp, 4, W(&again), W(&ends[1].pd), W(&attr));
}

static void send_after_destroy(struct story *s, int n, bool again)
{
	begin_far(s);
	send_grams(s, 1, 0x22);
	story_do(s, 1, VERB_destroy_qp, 8, 0, W(&ends[1].qp));
	if (again)
		make_again(s);
	send_grams(s, n, 0x22);
}

TEST(a_number_of_a_destroyed_queue_pair)
{
	struct story s;

	send_after_destroy(&s, 3, true);
	ends_as(&s, "which had this number, was destroyed; qp2 of process 2 (app) has since been "
		    "created there");
	send_after_destroy(&s, 2, true);
	ends_as(&s, NULL);
	send_after_destroy(&s, 3, false); /* the end of a program */
	ends_as(&s, NULL);
}

/*
 * The number may be that of a program without a recording, unless the only receiver waits in vain.
 */
TEST(a_number_of_nobody)
{
	struct story s;

	begin_far(&s);
	send_grams(&s, 3, 0x99);
	ends_as(&s, "sent 3 datagrams to number 0x99, which no queue pair of the trace has or had; "
		    "qp1 of process 2 (app) (number 0x22), the only other");
	begin_far(&s);
	send_grams(&s, 2, 0x99);
	ends_as(&s, NULL);
	begin_grams(&s, QKEY, 0x22, 0);
	send_grams(&s, 3, 0x99);
	ends_as(&s, NULL);
	begin_far(&s);
	send_grams(&s, 3, 0x99);
	receive_one(&s, 1);
	ends_as(&s, NULL);
}

TEST(an_unknown_number_that_answers)
{
	struct story s;

	begin_far(&s);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, (struct event_sge){ AT, BYTES, 0x10 });
	send_grams(&s, 3, 0x99);
	receive_one(&s, 0);
	ends_as(&s, NULL);
}

TEST(the_own_number)
{
	struct story s;

	begin_far(&s);
	receive_one(&s, 0);
	send_grams(&s, 2, ends[0].qp.qp_num);
	ends_as(&s, "sent 2 datagrams to its own number, 0x21; qp1 of process 2 (app) (number "
		    "0x22), the only other UD queue pair at that address, received nothing.");
	begin_far(&s);
	send_grams(&s, 1, ends[0].qp.qp_num);
	ends_as(&s, NULL);
	begin_far(&s);
	send_grams(&s, 2, ends[0].qp.qp_num);
	receive_one(&s, 1); /* it tested itself before */
	ends_as(&s, NULL);
}

TEST(a_group_with_the_number_of_a_member)
{
	struct story s;

	begin_far(&s);
	join_group(&s);
	address_group(&s, 1);
	send_grams(&s, 2, 0x22);
	ends_as(&s,
		"sent a datagram to multicast group ff12::1 with number 0x22, and not 0xffffff");
}

TEST(a_group_of_nobody)
{
	struct story s;

	begin_far(&s);
	join_group(&s);
	address_group(&s, 2);
	send_grams(&s, 3, 0xffffff);
	ends_as(&s,
		"to multicast group ff12::2, which no queue pair of the trace has joined; qp1 of "
		"process 2");
	begin_far(&s); /* its members are elsewhere */
	address_group(&s, 2);
	send_grams(&s, 3, 0xffffff);
	ends_as(&s, NULL);
}

TEST(a_group_with_members)
{
	struct story s;

	begin_far(&s);
	join_group(&s);
	address_group(&s, 1);
	send_grams(&s, 3, 0xffffff);
	ends_as(&s, NULL);
}
