/* analyzer/model/overlap.c, analyzer/rules/overlap.c: two outstanding requests with one buffer. */
#include "tests/analyzer/posted.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { RECEIVE = -1 };

static struct ibv_qp_cap wide = { 16, 16, 1, 1, 16 };

/* A request of one element. */
struct one {
	int opcode; /* enum ibv_wr_opcode, or RECEIVE */
	uint64_t wr_id, addr;
	uint32_t length;
	uint8_t flags;
};

static void post_on(struct story *s, const struct ibv_qp *qp, const struct one *one)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);
	bool receive = one->opcode == RECEIVE;

	event->object = W(qp);
	event->verb = (unsigned int)(receive ? VERB_post_recv : VERB_post_send) & 0x1ff;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = one->wr_id,
				 .opcode = receive ? 0 : (uint8_t)one->opcode,
				 .flags = one->flags,
				 .nsge = 1 };
	*sge = (struct event_sge){ one->addr, one->length, 0x10 };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

/* The same with an address of the other end. */
static void post_remote(struct story *s, const struct one *one, uint64_t addr, uint32_t rkey)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(rdma + 1);

	event->object = W(&a_qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = one->wr_id,
				 .opcode = (uint8_t)one->opcode,
				 .flags = one->flags,
				 .nsge = 1,
				 .parts = WR_RDMA };
	*rdma = (struct event_rdma){ .remote_addr = addr, .rkey = rkey };
	*sge = (struct event_sge){ one->addr, one->length, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*rdma) + sizeof(*sge)) / 8);
}

static void post_one(struct story *s, const struct one *one)
{
	post_on(s, &a_qp, one);
}

static void begin_two(struct story *s, const struct one *first, const struct one *second)
{
	begin_with(s, wide, wide);
	post_one(s, first);
	post_one(s, second);
}

/* READ into a buffer, then something with it. */
static const struct one reads = { IBV_WR_RDMA_READ, 1, 0x1000, 64, IBV_SEND_SIGNALED };

TEST(what_is_read_is_sent_without_a_fence)
{
	static const int opcodes[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE,
				       IBV_WR_RDMA_WRITE_WITH_IMM };
	struct story s;

	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		begin_two(&s, &reads, &(struct one){ opcodes[i], 2, 0x1020, 64, 0 });
		end_well(&s);
		story_warns(&s, RULE_MKEY_009, "32 bytes at 0x1020 of the IBV_WR_RDMA_READ");
	}
}

/* @n READs at 0x9000, and behind each a write to @addr with @rkey. */
static void write_behind(struct story *s, int n, uint64_t addr, uint32_t rkey, uint8_t flags)
{
	begin_with(s, wide, wide);
	for (int i = 0; i < n; i++) {
		post_remote(s, &reads, 0x9000, 7);
		post_remote(s, &(struct one){ IBV_WR_RDMA_WRITE, 2, 0x2000, 64, flags }, addr,
			    rkey);
		poll_sends(s, 1, 1);
	}
	end_well(s);
}

TEST(what_is_read_is_overwritten_without_a_fence)
{
	struct story s;

	write_behind(&s, 4, 0x9000, 7, 0);
	story_warns(&s, RULE_MKEY_009, "writes to the peer's memory at 0x9000, where the IBV_WR_");
	write_behind(&s, 3, 0x9000, 7, 0); /* a coincidence */
	story_finds_nothing(&s);
	write_behind(&s, 4, 0x9020, 7, 0);
	story_finds_nothing(&s);
	write_behind(&s, 4, 0x9000, 8, 0); /* other memory */
	story_finds_nothing(&s);
	write_behind(&s, 4, 0x9000, 7, IBV_SEND_FENCE);
	story_finds_nothing(&s);
}

TEST(what_is_read_is_sent_behind_a_fence)
{
	struct story s;

	begin_two(&s, &reads,
		  &(struct one){ IBV_WR_SEND, 2, 0x1000, 64, IBV_SEND_SIGNALED | IBV_SEND_FENCE });
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(what_is_read_is_sent_after_its_completion)
{
	struct story s;

	begin_with(&s, wide, wide);
	post_one(&s, &reads);
	poll_sends(&s, 1, 1);
	post_one(&s, &(struct one){ IBV_WR_SEND, 2, 0x1000, 64, IBV_SEND_SIGNALED });
	end_well(&s);
	story_finds_nothing(&s);
}

/* The last byte before it, and the first behind it. */
TEST(buffers_that_only_touch_share_nothing)
{
	struct story s;

	begin_two(&s, &reads, &(struct one){ IBV_WR_SEND, 2, 0x1040, 64, IBV_SEND_SIGNALED });
	post_one(&s, &(struct one){ IBV_WR_SEND, 3, 0xfc0, 64, IBV_SEND_SIGNALED });
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_byte_is_enough)
{
	struct story s;

	begin_two(&s, &reads, &(struct one){ IBV_WR_SEND, 2, 0x103f, 64, IBV_SEND_SIGNALED });
	end_well(&s);
	story_warns(&s, RULE_MKEY_009, "sends 1 byte at 0x103f");
}

TEST(an_atomic_fills_its_buffer_too)
{
	struct story s;

	begin_two(&s, &(struct one){ IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0x1000, 8, IBV_SEND_SIGNALED },
		  &(struct one){ IBV_WR_SEND, 2, 0x1000, 8, IBV_SEND_SIGNALED });
	end_well(&s);
	story_warns(&s, RULE_MKEY_009, "of the IBV_WR_ATOMIC_FETCH_AND_ADD");
}

/* Many outstanding sends of one buffer are as they should be, unless the peer wants them all. */
TEST(two_sends_may_share_a_buffer)
{
	struct story s;

	begin_two(&s, &(struct one){ IBV_WR_SEND, 1, 0x1000, 64, IBV_SEND_SIGNALED },
		  &(struct one){ IBV_WR_RDMA_WRITE, 2, 0x1000, 64, IBV_SEND_SIGNALED });
	end_well(&s);
	story_finds_nothing(&s);
}

static const struct one receive = { RECEIVE, 1, 0x1000, 64, 0 };

TEST(two_receives_in_one_slot)
{
	struct story s;

	begin_two(&s, &receive, &(struct one){ RECEIVE, 2, 0x1040, 64, 0 });
	post_one(&s, &(struct one){ RECEIVE, 3, 0x1000, 64, 0 });
	post_one(&s, &(struct one){ RECEIVE, 4, 0x1040, 64, 0 });
	end_well(&s);
	story_warns(
		&s, RULE_MKEY_007,
		"the receive with wr_id 0x3, 1:12, writes to the same 64 bytes at 0x1000 of "
		"the receive with wr_id 0x1, 1:10, which was outstanding, and so does 1 other.");
}

/* The mark of a drain: when it is flushed, all before it are. */
TEST(a_mark_in_err_fills_nothing)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct story s;

	begin_two(&s, &receive, &(struct one){ RECEIVE, 2, 0x1040, 64, 0 });
	story_do(&s, 0, VERB_modify_qp, 32, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE));
	post_one(&s, &(struct one){ RECEIVE, 3, 0x1000, 64, 0 });
	for (uint64_t i = 1; i <= 3; i++)
		story_poll(&s, 0, &a_cq, i, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
	end_well(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_MKEY_007], 0);
	story_end(&s);
}

TEST(slots_that_are_too_close_overlap)
{
	struct story s;

	begin_two(&s, &receive, &(struct one){ RECEIVE, 2, 0x1030, 64, 0 });
	end_well(&s);
	story_warns(&s, RULE_MKEY_007, "the same 16 bytes at 0x1030");
}

/* As the pingpongs do, which do not read what they receive. */
TEST(all_receives_in_one_place)
{
	struct story s;

	begin_two(&s, &receive, &receive);
	post_one(&s, &receive);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_slot_is_used_again_after_its_message)
{
	struct story s;

	begin_two(&s, &receive, &(struct one){ RECEIVE, 2, 0x1040, 64, 0 });
	poll_receive(&s, 0, 1);
	post_one(&s, &receive);
	end_well(&s);
	story_finds_nothing(&s);
}

static const struct one sends = { IBV_WR_SEND, 7, 0x1000, 64, IBV_SEND_SIGNALED };

TEST(a_receive_is_posted_into_what_is_being_sent)
{
	struct story s;

	begin_two(&s, &(struct one){ RECEIVE, 1, 0x2000, 64, 0 }, &sends);
	post_one(&s, &receive);
	end_well(&s);
	story_warns(&s, RULE_MKEY_007, "receives into 64 bytes at 0x1000 of the IBV_WR_SEND");
}

/* A receive elsewhere, a READ, and a receive that begins within what is read. */
static void receive_into_what_is_read(struct story *s, const struct one *read)
{
	begin_two(s, &(struct one){ RECEIVE, 9, 0x2000, 64, 0 }, read);
	post_one(s, &(struct one){ RECEIVE, 2, 0x1020, 64, 0 });
}

/* @n messages are answered from their buffers, in which a receive was posted before, or after. */
static void answer_messages(struct story *s, uint64_t n, uint8_t flags, bool before)
{
	const struct one receive = { RECEIVE, 1, 0x1000, 64, 0 };

	begin_with(s, wide, wide);
	post_one(s, &receive);
	post_one(s, &(struct one){ RECEIVE, 2, 0x1040, 64, 0 });
	for (uint64_t i = 0; i < n; i++) {
		poll_receive(s, 0, 1);
		if (before)
			post_one(s, &receive);
		post_one(s, &(struct one){ IBV_WR_SEND, 10 + i, 0x1010, 8,
					   IBV_SEND_SIGNALED | flags });
		poll_sends(s, 10 + i, 1);
		if (!before)
			post_one(s, &receive);
	}
	end_well(s);
}

TEST(an_answer_from_where_the_next_message_may_come)
{
	struct story s;

	answer_messages(&s, 4, 0, true);
	story_warns(&s, RULE_MKEY_007, "sends 8 bytes at 0x1010 of the receive with wr_id 0x1");
	answer_messages(&s, 3, 0, true);
	story_finds_nothing(&s);
	answer_messages(&s, 4, IBV_SEND_INLINE, true); /* copied at once */
	story_finds_nothing(&s);
	answer_messages(&s, 4, 0, false);
	story_finds_nothing(&s);
}

/* How a program with one buffer answers messages, or asks. */
struct echo {
	uint64_t n;
	uint32_t receives; /* outstanding */
	bool asks, first, waits;
};

static void echo_messages(struct story *s, struct echo e)
{
	static const struct one receive = { RECEIVE, 1, 0x1000, 64, 0 };

	begin_with(s, wide, wide);
	for (uint32_t i = 1; i < e.receives; i++)
		post_one(s, &receive);
	if (!e.asks)
		post_one(s, &receive);
	for (uint64_t i = 0; i < e.n; i++) {
		if (!e.asks || i)
			poll_receive(s, 0, 1);
		if (e.first)
			post_one(s, &receive);
		post_one(s, &(struct one){ IBV_WR_SEND, 10 + i, 0x1000, 64, IBV_SEND_SIGNALED });
		if (e.waits)
			poll_sends(s, 10 + i, 1);
		if (!e.first)
			post_one(s, &receive);
		if (!e.waits)
			poll_sends(s, 10 + i, 1);
	}
	end_well(s);
}

TEST(a_server_with_one_buffer)
{
	struct story s;

	echo_messages(&s, (struct echo){ .n = 4, .receives = 1 });
	story_warns(&s, RULE_MKEY_007, "receives into 64 bytes at 0x1000 of the IBV_WR_SEND");
	echo_messages(&s, (struct echo){ .n = 3, .receives = 1 });
	story_finds_nothing(&s);
	echo_messages(&s, (struct echo){ .n = 4, .receives = 1, .waits = true });
	story_finds_nothing(&s);
	/* the message that it receives is the answer, which follows the send */
	echo_messages(&s, (struct echo){ .n = 4, .receives = 1, .asks = true });
	story_finds_nothing(&s);
	/* a latency test, as qperf has it */
	echo_messages(&s, (struct echo){ .n = 4, .receives = 1, .first = true });
	story_finds_nothing(&s);
	/* a pingpong, which ignores what it receives */
	echo_messages(&s, (struct echo){ .n = 4, .receives = 2 });
	story_finds_nothing(&s);
}

/* The send is not built from a message. */
TEST(a_send_from_where_a_message_may_come)
{
	struct story s;

	begin_with(&s, wide, wide);
	post_one(&s, &(struct one){ RECEIVE, 1, 0x1000, 64, 0 });
	post_one(&s, &(struct one){ RECEIVE, 2, 0x1040, 64, 0 });
	for (uint64_t i = 0; i < 5; i++) {
		post_one(&s, &(struct one){ IBV_WR_SEND, 10 + i, 0x1040, 8, IBV_SEND_SIGNALED });
		poll_sends(&s, 10 + i, 1);
	}
	poll_receive(&s, 0, 1);
	end_well(&s);
	story_finds_nothing(&s);
}

TEST(a_receive_is_posted_into_what_is_being_read)
{
	struct story s;

	receive_into_what_is_read(&s, &reads);
	end_well(&s);
	story_warns(&s, RULE_MKEY_007,
		    "receives into 32 bytes at 0x1020 of the IBV_WR_RDMA_READ with wr_id 0x1");
}

TEST(an_unsignalled_read_may_be_done)
{
	struct one quiet = reads;
	struct story s;

	quiet.flags = 0;
	receive_into_what_is_read(&s, &quiet);
	end_well(&s);
	story_finds_nothing(&s);
}

/* A message that came since may have reported it. */
TEST(a_read_may_be_done_when_a_message_has_come)
{
	struct story s;

	begin_two(&s, &(struct one){ RECEIVE, 9, 0x2000, 64, 0 }, &reads);
	poll_receive(&s, 0, 9);
	post_one(&s, &(struct one){ RECEIVE, 2, 0x1020, 64, 0 });
	end_well(&s);
	story_finds_nothing(&s);
}

/* The contents of the buffer do not matter to the program. */
TEST(reads_and_receives_in_one_place)
{
	struct story s;

	begin_two(&s, &reads, &receive);
	end_well(&s);
	story_finds_nothing(&s);
}

/* Another queue pair, and what is read on the first one into two buffers. */

static struct ibv_qp second_qp;

static void begin_two_queue_pairs(struct story *s, const struct one *read)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .cap = wide, .qp_type = IBV_QPT_RC
	};
	struct one before = *read;

	before.wr_id = 9;
	before.addr = 0x4000;
	begin_with(s, wide, wide);
	second_qp = a_qp;
	second_qp.qp_num++;
	story_do(s, 0, VERB_create_qp, 4, W(&second_qp), W(&a_pd), W(&attr));
	post_one(s, &before);
	post_one(s, read);
}

static void end_two_queue_pairs(struct story *s)
{
	story_do(s, 0, VERB_destroy_qp, 5, 0, W(&second_qp));
	end_well(s);
}

static const struct one elsewhere = { IBV_WR_SEND, 2, 0x1000, 16,
				      IBV_SEND_SIGNALED | IBV_SEND_FENCE };

TEST(what_is_read_is_sent_on_another_queue_pair)
{
	struct story s;

	begin_two_queue_pairs(&s, &reads);
	post_on(&s, &second_qp, &elsewhere);
	end_two_queue_pairs(&s);
	story_warns(&s, RULE_MKEY_009,
		    "sends 16 bytes at 0x1000 of the IBV_WR_RDMA_READ with wr_id 0x1, 1:13, which "
		    "was outstanding on qp1.");
}

TEST(what_was_read_is_sent_on_another_queue_pair)
{
	struct story s;

	begin_two_queue_pairs(&s, &reads);
	poll_sends(&s, 9, 1);
	poll_sends(&s, 1, 1);
	post_on(&s, &second_qp, &elsewhere);
	end_two_queue_pairs(&s);
	story_finds_nothing(&s);
}

TEST(a_message_may_have_shown_that_the_read_is_done)
{
	struct story s;

	begin_two_queue_pairs(&s, &reads);
	post_one(&s, &(struct one){ RECEIVE, 5, 0x2000, 64, 0 });
	poll_receive(&s, 0, 5);
	post_on(&s, &second_qp, &elsewhere);
	end_two_queue_pairs(&s);
	story_finds_nothing(&s);
}

TEST(a_quiet_read_of_another_queue_pair_may_be_done)
{
	struct one quiet = reads;
	struct story s;

	quiet.flags = 0;
	begin_two_queue_pairs(&s, &quiet);
	post_on(&s, &second_qp, &elsewhere);
	end_two_queue_pairs(&s);
	story_finds_nothing(&s);
}

/* A program that reads everything into one place does not want it. */
TEST(reads_into_one_place_beside_sends_of_it)
{
	struct one again = reads;
	struct story s;

	again.addr = 0x4000;
	begin_two_queue_pairs(&s, &again);
	post_on(&s, &second_qp, &(struct one){ IBV_WR_SEND, 2, 0x4000, 16, IBV_SEND_SIGNALED });
	end_two_queue_pairs(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_MKEY_009], 0);
	story_end(&s);
}

/* The message has been sent when the post returns. */
TEST(what_is_sent_inline_may_be_received_into)
{
	struct one inline_send = sends;
	struct story s;

	inline_send.length = 16;
	inline_send.flags |= IBV_SEND_INLINE;
	begin_two(&s, &(struct one){ RECEIVE, 1, 0x2000, 64, 0 }, &inline_send);
	post_one(&s, &receive);
	end_well(&s);
	story_finds_nothing(&s);
}

/* The other end may have said that it is done. */
TEST(an_unsignalled_send_may_be_done)
{
	struct one quiet = sends;
	struct story s;

	quiet.flags = 0;
	begin_two(&s, &(struct one){ RECEIVE, 1, 0x2000, 64, 0 }, &quiet);
	post_one(&s, &receive);
	end_well(&s);
	story_finds_nothing(&s);
}

/* Datagrams: the first 40 bytes of a buffer are for the GRH. */

static void begin_datagrams(struct story *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .cap = wide, .qp_type = IBV_QPT_UD
	};

	story_with_cq(s);
	story_do(s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
}

TEST(a_receive_with_room_for_the_grh_alone)
{
	struct story s;

	for (uint32_t length = 40; length <= 41; length++) {
		begin_datagrams(&s);
		post_one(&s, &(struct one){ RECEIVE, 1, 0x1000, length, 0 });
		end_well(&s);
		if (length == 40)
			story_warns(&s, RULE_QUEUE_007, "has 40 bytes, and the first 40");
		else
			story_finds_nothing(&s);
	}
}

/* A connected queue pair has no GRH in its buffers. */
TEST(a_short_receive_of_a_connected_queue_pair)
{
	struct story s;

	begin_with(&s, wide, wide);
	post_one(&s, &(struct one){ RECEIVE, 1, 0x1000, 8, 0 });
	end_well(&s);
	story_finds_nothing(&s);
}

/* Receive a datagram, and send from @addr. */
static void answer_datagram(struct story *s, uint64_t addr)
{
	begin_datagrams(s);
	post_one(s, &(struct one){ RECEIVE, 1, 0x1000, 64, 0 });
	poll_receive(s, 0, 1);
	post_one(s, &(struct one){ IBV_WR_SEND, 2, addr, 24, IBV_SEND_SIGNALED });
	end_well(s);
}

TEST(a_datagram_is_sent_from_where_another_begins)
{
	struct story s;

	answer_datagram(&s, 0x1000);
	story_warns(&s, RULE_QUEUE_007, "sends from 0x1000, where the buffer of a received");
}

TEST(a_datagram_is_sent_from_behind_the_grh)
{
	struct story s;

	answer_datagram(&s, 0x1028);
	story_finds_nothing(&s);
}

/* The contents of the buffer are not known. */
TEST(a_datagram_is_sent_from_a_buffer_that_nothing_came_into)
{
	struct story s;

	begin_datagrams(&s);
	post_one(&s, &(struct one){ RECEIVE, 1, 0x1000, 64, 0 });
	post_one(&s, &(struct one){ IBV_WR_SEND, 2, 0x2000, 24, IBV_SEND_SIGNALED });
	end_well(&s);
	story_finds_nothing(&s);
}

/* READs into one buffer, each while the others are outstanding; @step: between their places. */
static uint64_t read_places(uint64_t step)
{
	static const struct one read = { IBV_WR_RDMA_READ, 1, 0x1000, 64, IBV_SEND_SIGNALED };
	struct story s;
	uint64_t found;

	begin_with(&s, wide, wide);
	for (uint64_t i = 0; i < 5; i++)
		post_remote(&s, &read, 0x8000 + i * step, 0x20);
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_007];
	story_end(&s);
	return found;
}

TEST(different_places_are_read_into_one_buffer)
{
	assert_int_equal(read_places(64), 1);
	assert_int_equal(read_places(0), 0);
}

/* In each of @rounds, two atomics into one word, of which the later one has the wr_id @second. */
static uint64_t take_values(uint64_t rounds, uint64_t step, uint64_t second, uint8_t flags)
{
	struct story s;
	uint64_t found;

	begin_with(&s, wide, wide);
	for (uint64_t i = 0; i < rounds; i++) {
		post_remote(&s, &(struct one){ IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0x1000, 8, flags },
			    0x8000, 0x20);
		post_remote(&s,
			    &(struct one){ IBV_WR_ATOMIC_FETCH_AND_ADD, second + i * step, 0x1000,
					   8, IBV_SEND_SIGNALED },
			    0x8000, 0x20);
		if (flags)
			poll_sends(&s, 1, 1);
		poll_sends(&s, second + i * step, 1);
	}
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_007];
	story_end(&s);
	return found;
}

TEST(slots_take_values_into_one_word)
{
	assert_int_equal(take_values(4, 0, 2, IBV_SEND_SIGNALED), 1);
	assert_int_equal(take_values(3, 0, 2, IBV_SEND_SIGNALED), 0);
	assert_int_equal(take_values(4, 0, 1, IBV_SEND_SIGNALED),
			 0); /* they are not distinguished */
	assert_int_equal(take_values(4, 1, 2, IBV_SEND_SIGNALED), 0); /* they are counted */
	assert_int_equal(take_values(4, 0, 2, 0), 0); /* the value of the first is not waited for */
}

/* Sends from one buffer, without waiting, to a peer whose receives are @step bytes apart. */
struct resent {
	uint64_t n, step;
	int opcode;
	unsigned int flags;
	bool polls;
	/* a message of the peer is polled before each send: the peer posted it before it received
	   any, or after it had received the last one */
	enum { NONE, CALLS, ANSWERS } comes;
	uint64_t (*hash)(uint64_t i); /* of the bytes of message i; NULL: not recorded */
	uint32_t longer; /* by so many bytes is each message longer than the one before */
};

static void hash_bytes(struct story *s, uint64_t i, uint64_t hash)
{
	struct event_payload *event = (struct event_payload *)s->words;

	*event = (struct event_payload){ .object = W(&ends[0].qp),
					 .total = 8,
					 .hash = hash,
					 .of = (uint32_t)i + 1,
					 .kind = PAYLOAD_SEND,
					 .flags = PAYLOAD_LAST | PAYLOAD_HASHED };
	story_event(s, 0, EVENT_PAYLOAD, sizeof(*event) / 8);
}

static void send_as(struct story *s, const struct resent *r, uint64_t i)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	bool writes = r->opcode == IBV_WR_RDMA_WRITE;
	struct event_sge *sge =
		writes ? (struct event_sge *)(rdma + 1) : (struct event_sge *)(wr + 1);

	if (r->hash)
		hash_bytes(s, i, r->hash(i));
	event->head.flags = r->hash ? EVENT_CARRIES : 0;
	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = i,
				 .opcode = (uint8_t)r->opcode,
				 .flags = (uint8_t)r->flags,
				 .nsge = 1,
				 .parts = writes ? WR_RDMA : 0 };
	if (writes)
		*rdma = (struct event_rdma){ .remote_addr = AT + 1024 + i * r->step, .rkey = 0x21 };
	*sge = (struct event_sge){ AT, 8 + (uint32_t)i * r->longer, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST, (size_t)((char *)(sge + 1) - (char *)event) / 8);
}

static void poll_message(struct story *s, int thread, uint64_t wr_id)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[thread].cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = wr_id;
	wc->opcode = IBV_WC_RECV;
	wc->qp_num = ends[thread].qp.qp_num;
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void message_comes(struct story *s, const struct resent *r, uint64_t i)
{
	if (r->comes == ANSWERS && i)
		poll_message(s, 1, i - 1);
	if (r->comes == ANSWERS)
		story_post(s, 1, VERB_post_send, &ends[1].qp, 50 + i, IBV_WR_SEND,
			   (struct event_sge){ AT + 2048, 8, ends[1].mr.lkey });
	if (r->comes)
		poll_message(s, 0, 100 + i);
}

static void begin_messages(struct story *s, const struct resent *r)
{
	for (uint64_t i = 0; i < r->n && r->comes; i++)
		story_post(s, 0, VERB_post_recv, &ends[0].qp, 100 + i, 0,
			   (struct event_sge){ AT + 2048 + 16 * i, 8, ends[0].mr.lkey });
	for (uint64_t i = 0; i < r->n && r->comes == CALLS; i++)
		story_post(s, 1, VERB_post_send, &ends[1].qp, 50 + i, IBV_WR_SEND,
			   (struct event_sge){ AT + 2048, 8, ends[1].mr.lkey });
}

static uint64_t send_again(struct resent r)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (uint64_t i = 0; i < r.n; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT + i * r.step, 16, ends[1].mr.lkey });
	begin_messages(&s, &r);
	for (uint64_t i = 0; i < r.n; i++) {
		message_comes(&s, &r, i);
		send_as(&s, &r, i);
		if (r.polls)
			story_poll(&s, 0, &ends[0].cq, i, IBV_WC_SUCCESS, ends[0].qp.qp_num);
	}
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_007] + 10 * s.findings->rules[RULE_MKEY_007];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_007)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "sends the same 8 bytes at 0x7000 of the "));
	story_end(&s);
	return found;
}

TEST(a_buffer_is_filled_anew_for_each_message)
{
	const struct resent r = { 8, 16, IBV_WR_SEND, IBV_SEND_SIGNALED, false, NONE, NULL, 1 };
	struct resent other = r;

	assert_int_equal(send_again(r), 1);
	other.polls = true;
	assert_int_equal(send_again(other), 0);
	other = r;
	other.step = 0; /* a peer that looks at none of them */
	assert_int_equal(send_again(other), 0);
	other = r;
	other.n = 7; /* only three of the sends have four before them */
	assert_int_equal(send_again(other), 0);
	other = r;
	other.flags = 0; /* an answer in memory may tell that they are done */
	assert_int_equal(send_again(other), 0);
	other = r;
	other.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(send_again(other), 1);
	other.step = 0; /* a counter, of which only the last value counts */
	assert_int_equal(send_again(other), 0);
}

/* As benchmarks do. */
TEST(one_message_is_sent_again_and_again)
{
	struct resent r = { 8, 16, IBV_WR_SEND, IBV_SEND_SIGNALED, false, NONE, NULL, 0 };

	assert_int_equal(send_again(r), 0);
	r.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(send_again(r), 0);
}

TEST(messages_would_fit_inline)
{
	const struct resent r = { 8, 16, IBV_WR_SEND, IBV_SEND_SIGNALED, false, NONE, NULL, 0 };

	end_inline = 8;
	assert_int_equal(send_again(r), 1);
	end_inline = 7;
	assert_int_equal(send_again(r), 0);
	end_inline = 0;
}

/* Only a message that the peer posted after it had received a send shows that it has arrived. */
TEST(messages_that_came_before_prove_nothing)
{
	struct resent r = { 8, 16, IBV_WR_SEND, IBV_SEND_SIGNALED, false, CALLS, NULL, 0 };

	assert_int_equal(send_again(r), 1);
	r.comes = ANSWERS;
	assert_int_equal(send_again(r), 0);
}

TEST(a_buffer_that_is_copied_may_be_filled_anew)
{
	const struct resent r = { 8,     16,   IBV_WR_SEND, IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				  false, NONE, NULL,        0 };

	assert_int_equal(send_again(r), 0);
}

static uint64_t same_bytes(uint64_t i)
{
	(void)i;
	return 5;
}

static uint64_t other_bytes(uint64_t i)
{
	return i;
}

TEST(the_bytes_of_two_messages_of_one_buffer_are_compared)
{
	struct resent r = { 8, 16, IBV_WR_SEND, IBV_SEND_SIGNALED, false, NONE, other_bytes, 0 };

	assert_int_equal(send_again(r), 10); /* it is certain */
	r.hash = same_bytes;
	assert_int_equal(send_again(r), 0);
}

/* A server, process 1, writes answers to one place of its client, which gives the last one up. */
struct given_up {
	uint64_t answers; /* before that */
	int64_t patience;
	uint64_t receive; /* the address of the receive that the client posts then */
	bool asks;        /* it sends another request before the late answer */
};

static void ask_server(struct story *s)
{
	story_post(s, 1, VERB_post_send, &ends[1].qp, 50, IBV_WR_SEND,
		   (struct event_sge){ AT + 2048, 8, ends[1].mr.lkey });
}

static uint64_t answer_late(struct given_up g)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (uint64_t i = 0; i < 2; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT + 1024 + 64 * i, 64, ends[1].mr.lkey });
	for (uint64_t i = 0; i < g.answers; i++) {
		ask_server(&s);
		post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 512, 0x21);
	}
	ask_server(&s);
	s.now += (uint64_t)g.patience;
	story_post(&s, 1, VERB_post_recv, &ends[1].qp, 9, 0,
		   (struct event_sge){ g.receive, 64, ends[1].mr.lkey });
	if (g.asks)
		ask_server(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 512, 0x21);
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_007];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_007)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "had been written to before that"));
	story_end(&s);
	return found;
}

TEST(an_answer_comes_when_its_place_is_used_for_something_else)
{
	const struct given_up g = { .answers = 2, .patience = 20000000, .receive = AT + 64 };
	struct given_up other = g;

	assert_int_equal(answer_late(g), 1);
	other.answers = 0; /* it may never have been meant for answers */
	assert_int_equal(answer_late(other), 0);
	other = g;
	other.patience = 1000000;
	assert_int_equal(answer_late(other), 0);
	other = g;
	other.receive = AT + 512;
	assert_int_equal(answer_late(other), 0);
	other = g;
	other.asks = true; /* the answer may be that of the last request */
	assert_int_equal(answer_late(other), 0);
}
