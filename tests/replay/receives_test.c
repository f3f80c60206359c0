/*
 * replay/schedule/receives.c: queue pair 1 sends to 2, which completes on CQ 3; neither has a
 * shared receive queue.
 */
#include "replay/schedule/receives.h"

#include <infiniband/verbs.h>

#include "tests/test.h"

enum { QP = 1, PEER, CQ, SRQ, OBJECTS, FIRST = 64, MOST = 1 << 16 };

static struct relation of[OBJECTS];
static const struct relation usual[OBJECTS] = {
	[QP] = { .send_cq = CQ, .recv_cq = CQ, .receives = QP, .peer = PEER },
	[PEER] = { .send_cq = CQ, .recv_cq = CQ, .receives = PEER, .peer = QP },
};
static const struct relations relations = { .of = of, .nobjects = OBJECTS };
static struct receives *receives;
static uint64_t last; /* step */

static int begin_receives(void **state)
{
	(void)state;
	memcpy(of, usual, sizeof(of));
	last = 0;
	return receives_new(&relations, OBJECTS, &receives);
}

static int end_receives(void **state)
{
	(void)state;
	receives_free(receives);
	return 0;
}

FIXTURE(begin_receives, end_receives);

static void post_as(enum verb verb, uint32_t object, int opcode, uint32_t n, int ret)
{
	const struct wr wr = { .opcode = opcode };
	struct wr wrs[4] = { wr, wr, wr, wr };
	const struct post post = {
		.verb = verb, .object = object, .nwr = n, .wr = wrs, .ret = ret
	};

	receives_note(receives, &post, (struct mark){ 1, ++last });
}

static void post_receives(uint32_t n)
{
	while (n--)
		post_as(VERB_post_recv, PEER, 0, 1, 0);
}

static void send_messages(uint32_t n)
{
	while (n--)
		post_as(VERB_post_send, QP, IBV_WR_SEND, 1, 0);
}

static void expect_step(uint64_t seq)
{
	struct mark mark;

	assert_true(receives_find(receives, QP, &mark));
	assert_int_equal(mark.seq, seq);
	assert_int_equal(mark.player, seq ? 1 : 0);
}

static void expect_none(void)
{
	struct mark mark;

	assert_false(receives_find(receives, QP, &mark));
}

TEST(message_that_was_not_sent_takes_none)
{
	post_receives(1);
	expect_step(0);
}

TEST(message_n_takes_receive_n)
{
	post_receives(3);
	for (uint64_t i = 1; i <= 3; i++) {
		send_messages(1);
		expect_step(i);
	}
}

TEST(message_without_a_receive_is_not_known)
{
	post_receives(2);
	send_messages(2);
	expect_step(2);
	send_messages(1);
	expect_none();
	post_receives(1);
	expect_step(last);
}

TEST(requests_of_a_list_are_one_step)
{
	post_as(VERB_post_recv, PEER, 0, 3, 0);
	post_receives(1);
	send_messages(3);
	expect_step(1);
	send_messages(1);
	expect_step(2);
}

/* One more doubles the capacity: none is forgotten before it is consumed. */
TEST(receives_that_are_not_taken_stay)
{
	static const uint32_t sizes[] = { FIRST - 1, FIRST, FIRST + 1, 2 * FIRST, 2 * FIRST + 1 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		end_receives(NULL);
		begin_receives(NULL);
		post_receives(sizes[i]);
		for (uint64_t step = 1; step <= sizes[i]; step++) {
			send_messages(1);
			expect_step(step);
		}
	}
}

/* When the entry of a message is reused, its step is forgotten. */
TEST(receive_that_was_taken_makes_room_for_another)
{
	post_receives(FIRST);
	send_messages(1);
	expect_step(1);
	post_receives(1);
	expect_none();
	send_messages(1);
	expect_step(2);
}

TEST(receives_that_are_too_many_are_not_counted)
{
	post_receives(MOST);
	send_messages(1);
	expect_step(1);
	end_receives(NULL);
	begin_receives(NULL);
	post_receives(MOST + 1);
	send_messages(1);
	expect_none();
}

static const struct opcode {
	const char *name;
	int opcode;
	bool takes;
} opcodes[] = {
	{ "a_send", IBV_WR_SEND, true },
	{ "a_send_with_immediate", IBV_WR_SEND_WITH_IMM, true },
	{ "a_send_that_invalidates", IBV_WR_SEND_WITH_INV, true },
	{ "a_write_with_immediate", IBV_WR_RDMA_WRITE_WITH_IMM, true },
	{ "a_write", IBV_WR_RDMA_WRITE, false },
	{ "a_read", IBV_WR_RDMA_READ, false },
	{ "an_atomic", IBV_WR_ATOMIC_FETCH_AND_ADD, false },
};

static void opcode_decides(void **state)
{
	const struct opcode *row = *state;

	begin_receives(NULL);
	post_receives(1);
	post_as(VERB_post_send, QP, row->opcode, 1, 0);
	expect_step(row->takes ? 1 : 0);
	end_receives(NULL);
}
TEST_ROWS(opcodes, opcode_decides);

static void refuse_send(void)
{
	post_as(VERB_post_send, QP, IBV_WR_SEND, 1, 12);
}

static void refuse_receive(void)
{
	post_as(VERB_post_recv, PEER, 0, 1, 12);
}

static void abort_batch(void)
{
	post_as(VERB_wr_abort, QP, IBV_WR_SEND, 1, 12);
}

static void stop_sender(void)
{
	of[QP].stopped = true;
	post_as(VERB_post_send, QP, IBV_WR_RDMA_WRITE, 1, 0);
}

static void lose_sender(void)
{
	receives_mark_uneven(receives, QP);
}

static void lose_receiver(void)
{
	receives_mark_uneven(receives, PEER);
}

static void lose_what_is_not_there(void)
{
	receives_mark_uneven(receives, 0);
	receives_mark_uneven(receives, OBJECTS);
}

static void part_receiver(void)
{
	of[PEER].peer = 0;
}

static void share_receives(void)
{
	of[PEER].receives = SRQ;
}

static void hide_queue(void)
{
	of[PEER].recv_cq = 0;
}

static void make_sender_unreliable(void)
{
	of[QP].unreliable = true;
}

static void make_receiver_unreliable(void)
{
	of[PEER].unreliable = true;
}

static void fill_queue(void)
{
	of[CQ].room = of[CQ].promised = 5;
}

static void overfill_queue(void)
{
	of[CQ].room = 5;
	of[CQ].promised = 6;
}

static const struct doubt {
	const char *name;
	void (*happens)(void);
	bool known;
} doubts[] = {
	{ "a_refused_send", refuse_send, false },
	{ "a_refused_receive", refuse_receive, false },
	{ "a_batch_that_was_aborted", abort_batch, true },
	{ "a_sender_that_was_stopped", stop_sender, false },
	{ "a_sender_that_failed", lose_sender, false },
	{ "a_receiver_that_failed", lose_receiver, false },
	{ "a_loss_of_nothing", lose_what_is_not_there, true },
	{ "a_receiver_of_another", part_receiver, false },
	{ "a_shared_queue", share_receives, false },
	{ "a_queue_that_is_not_known", hide_queue, false },
	{ "an_unreliable_sender", make_sender_unreliable, false },
	{ "an_unreliable_receiver", make_receiver_unreliable, false },
	{ "a_queue_with_room_for_all", fill_queue, true },
	{ "a_queue_without_room_for_all", overfill_queue, false },
};

static void doubt_is_reported(void **state)
{
	const struct doubt *row = *state;

	begin_receives(NULL);
	post_receives(2);
	send_messages(1);
	expect_step(1);
	row->happens();
	if (row->known)
		expect_step(1);
	else
		expect_none();
	end_receives(NULL);
}
TEST_ROWS(doubts, doubt_is_reported);

TEST(queue_pairs_that_are_not_known_have_none)
{
	struct mark mark;

	assert_false(receives_find(receives, 0, &mark));
	assert_false(receives_find(receives, CQ, &mark));
	receives_free(NULL);
}
