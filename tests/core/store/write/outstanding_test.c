#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/chunk/abi.h"
#include "core/store/db/args.h"
#include "core/store/write/outstanding.h"
#include "core/wire/desc.h"
#include "tests/test.h"

enum { A = 0xa, B = 0xb, SRQ = 0x5, CQ_A = 0xca, CQ_B = 0xcb, NUMBER_A = 17, NUMBER_B = 18 };
enum { STALE = 1000000000 };              /* ns after which a completion is no longer expected */
enum { SEND, QUIET, WRITE, WRITE_QUIET }; /* sends and writes, signaled and not */

static struct outstanding *o;

static void create_qp(uint64_t handle, uint32_t number, uint64_t cq, uint64_t srq, bool datagrams)
{
	const struct outstanding_qp qp = {
		.number = number, .send_cq = cq, .recv_cq = cq, .srq = srq, .datagrams = datagrams
	};

	/* as in two processes, each with a thread of the same number */
	assert_int_equal(outstanding_create_qp(o, handle == A ? 1 : 2, handle, &qp, 0), 0);
}

/* Two queue pairs, connected to each other. */
static int connect_both(void **state)
{
	(void)state;
	assert_int_equal(outstanding_new(&o), 0);
	create_qp(A, NUMBER_A, CQ_A, 0, false);
	create_qp(B, NUMBER_B, CQ_B, 0, false);
	assert_int_equal(outstanding_connect_qp(o, 1, A, NUMBER_B), 0);
	assert_int_equal(outstanding_connect_qp(o, 2, B, NUMBER_A), 0);
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	outstanding_free(o);
	return 0;
}

static struct event_place index_of(uint32_t process, uint64_t n)
{
	return (struct event_place){ process, process, 0, n, (int64_t)n };
}

struct post {
	struct event_post post;
	struct event_wr wrs[4];
};

/* As event @n, requests with wr_ids from @wr_id on; all but the first @accepted are refused. */
static void post_some(uint32_t process, uint64_t n, uint64_t queue, enum verb verb, int kind,
		      uint64_t wr_id, uint16_t count, unsigned int accepted)
{
	struct event_place at = index_of(process, n);
	struct post event = { .post = { .object = queue, .nwr = count } };

	event.post.verb = verb & 0x1ff;
	event.post.ret = accepted < count ? 12 : 0;
	event.post.bad = accepted < count ? (accepted + 1) & 0x1ff : 0;
	for (uint16_t i = 0; i < count; i++)
		event.wrs[i] = (struct event_wr){ .wr_id = wr_id + i,
						  .opcode = kind < WRITE ? ABI_WR_SEND : 0,
						  .flags = kind % 2 ? 0 : ABI_SEND_SIGNALED };
	assert_int_equal(outstanding_note_post(o, &at, &event.post, 0), 0);
}

static void send_one(uint64_t n, int kind, uint64_t wr_id)
{
	post_some(1, n, A, VERB_post_send, kind, wr_id, 1, 1);
}

static void post_receive(uint64_t n, uint64_t wr_id)
{
	post_some(2, n, B, VERB_post_recv, SEND, wr_id, 1, 1);
}

static void poll_one(uint32_t process, uint64_t n, uint64_t wr_id, uint32_t opcode, uint32_t status)
{
	struct event_place at = index_of(process, n);
	struct {
		struct event_poll poll;
		struct event_wc wc;
	} event = { .poll = { .cq = process == 1 ? CQ_A : CQ_B, .ret = 1, .nwc = 1 },
		    .wc = { .wr_id = wr_id,
			    .opcode = opcode,
			    .status = status,
			    .src_qp = NUMBER_A,
			    .qp_num = process == 1 ? NUMBER_A : NUMBER_B } };

	assert_int_equal(outstanding_note_poll(o, &at, &event.poll), 0);
}

static void poll_sent(uint64_t n, uint64_t wr_id)
{
	poll_one(1, n, wr_id, 0, ABI_WC_SUCCESS);
}

static void poll_received(uint64_t n, uint64_t wr_id)
{
	poll_one(2, n, wr_id, ABI_WC_RECV, ABI_WC_SUCCESS);
}

/* "1:3 post 7, 1:4 poll 7": thread, number, verb, wr_id. */
static void assert_left_at(int64_t time, const char *expected)
{
	struct outstanding_item *items;
	char text[1000] = "";
	size_t count, used = 0;

	assert_int_equal(outstanding_list(o, time, &items, &count), 0);
	for (size_t i = 0; i < count; i++) {
		const struct outstanding_item *item = &items[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u:%d %s %d",
					 i ? ", " : "", item->at.thread, (int)item->at.n,
					 item->wr   ? "post"
					 : item->wc ? "poll"
						    : "arm",
					 item->wr   ? (int)item->wr->wr_id
					 : item->wc ? (int)item->wc->wr_id
						    : (int)item->notify->cq);
	}
	free(items);
	assert_string_equal(text, expected);
}

static void assert_left(const char *expected)
{
	assert_left_at(1000, expected);
}

FIXTURE(connect_both, free_all);

TEST(what_has_not_completed_stays)
{
	post_receive(1, 1);
	post_receive(2, 2);
	send_one(1, WRITE, 7);
	send_one(2, WRITE, 8);
	poll_sent(3, 7);
	assert_left("1:2 post 8, 2:1 post 1, 2:2 post 2");
}

TEST(message_that_both_ends_have_seen_is_gone)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	poll_sent(2, 7);
	poll_received(2, 1);
	assert_left("");
	assert_true(outstanding_is_whole(o, 10));
}

TEST(message_that_the_sender_alone_has_seen_stays_at_the_sender)
{
	post_receive(1, 1);
	post_receive(2, 2);
	send_one(1, SEND, 7);
	send_one(2, SEND, 8);
	poll_sent(3, 7);
	poll_sent(4, 8);
	poll_received(3, 1);
	assert_left("1:2 post 8, 1:4 poll 8, 2:2 post 2");
}

TEST(message_that_the_receiver_alone_has_seen_stays_at_the_receiver)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	poll_received(2, 1);
	assert_left("1:1 post 7, 2:1 post 1, 2:2 poll 1");
	assert_true(outstanding_is_whole(o, 10));
}

TEST(unsignaled_sends_go_with_the_next_signaled)
{
	for (uint64_t n = 1; n <= 3; n++)
		post_receive(n, n);
	send_one(1, QUIET, 7);
	send_one(2, QUIET, 8);
	send_one(3, SEND, 9);
	send_one(4, QUIET, 10);
	poll_sent(5, 9);
	poll_received(4, 1);
	poll_received(5, 2);
	assert_left("1:3 post 9, 1:4 post 10, 1:5 poll 9, 2:3 post 3");
}

/*
 * Completions of two threads are read in another order: a signaled request stays until its own
 * completion.
 */
TEST(sq_sig_all_signals_all)
{
	const struct outstanding_qp qp = {
		.number = NUMBER_A, .send_cq = CQ_A, .recv_cq = CQ_A, .sq_sig_all = true
	};

	assert_int_equal(outstanding_create_qp(o, 1, A, &qp, 0), 0);
	for (uint64_t n = 1; n <= 3; n++)
		send_one(n, WRITE_QUIET, 6 + n);
	poll_sent(4, 8);
	assert_left("1:1 post 7, 1:3 post 9");
}

TEST(without_sq_sig_all_the_flag_decides)
{
	send_one(1, WRITE_QUIET, 7);
	send_one(2, WRITE, 8);
	poll_sent(3, 8);
	assert_left("");
}

/* sq_sig_all for both ways to make a queue pair: it is read from the arguments of the call. */
static const struct made {
	const char *name;
	enum verb verb;
	const char *in;
	const char *left;
} mades[] = {
	{ "sq_sig_all_of_create_qp", VERB_create_qp, "{\"qp_init_attr\":{\"sq_sig_all\":1}}",
	  "1:1 post 7" },
	{ "sq_sig_all_of_create_qp_ex", VERB_create_qp_ex,
	  "{\"qp_init_attr_ex\":{\"sq_sig_all\":1}}", "1:1 post 7" },
	{ "no_sq_sig_all_of_create_qp", VERB_create_qp, "{\"qp_init_attr\":{\"sq_sig_all\":0}}",
	  "" },
};

static void sq_sig_all_is_read(void **state)
{
	static const char out[] = "{\"ret\":{\"qp_num\":17,\"send_cq\":202,\"recv_cq\":202}}";
	const struct made *row = *state;
	struct args *made = args_new(out, strlen(out)), *in = args_new(row->in, strlen(row->in));
	const struct outstanding_note_call call = {
		.process = 1, .verb = row->verb, .handle = A, .in = in, .out = made
	};

	assert_int_equal(outstanding_new(&o), 0);
	assert_true(outstanding_needs_args(row->verb));
	assert_int_equal(outstanding_note_call(o, &call), 0);
	send_one(1, WRITE_QUIET, 7);
	send_one(2, WRITE, 8);
	poll_sent(3, 8);
	assert_left(row->left);
	outstanding_free(o);
	args_unref(in);
	args_unref(made);
}
TEST_ROWS(mades, sq_sig_all_is_read);

TEST(completion_that_is_read_before_its_post_waits_for_it)
{
	poll_sent(2, 7);
	assert_false(outstanding_is_whole(o, 10));
	assert_left("1:2 poll 7");
	send_one(1, WRITE, 7);
	assert_left("");
	assert_true(outstanding_is_whole(o, 10));
}

/* The ring of the thread that polls is read first. The numbers of requests repeat. */
TEST(completions_of_a_whole_ring_wait_for_their_posts)
{
	enum { N = 3000 };

	for (uint64_t i = 0; i < N; i++)
		poll_sent(N + i, 0);
	for (uint64_t i = 0; i < N; i++)
		send_one(1 + i, WRITE, 0);
	assert_left("");
	assert_true(outstanding_is_whole(o, 2 * N));
}

static size_t count_left(void)
{
	struct outstanding_item *items;
	size_t count;

	assert_int_equal(outstanding_list(o, 1000, &items, &count), 0);
	free(items);
	return count;
}

/* The limit is also that of a thread whose posts are never read. */
TEST(oldest_of_too_many_early_completions_is_given_up)
{
	enum { MOST = 1 << 16, MORE = 3 };

	for (uint64_t i = 0; i < MOST; i++)
		poll_sent(1 + i, i);
	assert_int_equal(count_left(), MOST);
	for (uint64_t i = MOST; i < MOST + MORE; i++)
		poll_sent(1 + i, i);
	assert_int_equal(count_left(), MOST);
	send_one(MOST + 10, WRITE, MORE - 1); /* the completion of this send was dropped */
	assert_int_equal(count_left(), MOST + 1);
	send_one(MOST + 11, WRITE, MORE);
	assert_int_equal(count_left(), MOST);
}

/* Another queue pair has its own room. */
TEST(early_completions_of_one_number_take_no_room_of_another)
{
	enum { MOST = 1 << 16 };

	poll_one(2, 1, 7, 0, ABI_WC_SUCCESS);
	for (uint64_t i = 0; i <= MOST; i++)
		poll_sent(2 + i, i);
	assert_int_equal(count_left(), MOST + 1);
	post_some(2, MOST + 10, B, VERB_post_send, WRITE, 7, 1, 1);
	assert_int_equal(count_left(), MOST);
}

static const struct early_row {
	const char *name;
	uint64_t others; /* completions before it, of requests that are not read */
	uint64_t after;  /* ns from the completion to the post */
	bool found;
} earlies[] = {
	{ "early_completion_behind_63_others", 63, 100, true },
	{ "early_completion_behind_64_others", 64, 100, false },
	{ "early_completion_a_second_ago", 0, STALE, true },
};

static void early_completion_is_found(void **state)
{
	const struct early_row *row = *state;

	connect_both(NULL);
	for (uint64_t i = 0; i < row->others; i++)
		poll_sent(1, 1000 + i);
	poll_sent(1, 7);
	send_one(1 + row->after, WRITE, 7);
	assert_int_equal(count_left(), row->others + (row->found ? 0 : 2));
	free_all(NULL);
}
TEST_ROWS(earlies, early_completion_is_found);

/*
 * A post cleans up: completions that it does not match, and that are older than a second, are no
 * longer expected.
 */
TEST(early_completions_get_stale)
{
	poll_sent(1, 1000);
	send_one(1 + STALE, WRITE, 7);
	assert_int_equal(count_left(), 2);
	send_one(2 + STALE, WRITE, 8);
	assert_int_equal(count_left(), 2);
	send_one(3 + STALE, WRITE, 1000); /* its completion was dropped */
	assert_int_equal(count_left(), 3);
}

TEST(early_completion_is_awaited_for_a_second)
{
	poll_sent(1, 1000);
	assert_false(outstanding_is_whole(o, STALE));
	assert_true(outstanding_is_whole(o, 1 + STALE));
	poll_sent(5, 1001); /* the last one counts */
	assert_false(outstanding_is_whole(o, 4 + STALE));
	assert_true(outstanding_is_whole(o, 5 + STALE));
}

/* A receive of a shared queue may complete with any number of its process. */
TEST(early_completion_of_a_shared_queue_waits_for_it)
{
	create_qp(B, NUMBER_B, CQ_B, SRQ, false);
	assert_int_equal(outstanding_create_srq(o, 2, SRQ, 0), 0);
	poll_received(1, 5);
	poll_sent(1, 5);
	assert_int_equal(count_left(), 2);
	post_some(2, 2, SRQ, VERB_post_srq_recv, SEND, 5, 1, 1);
	assert_int_equal(count_left(), 1);
	send_one(2, WRITE, 5);
	assert_int_equal(count_left(), 0);
}

TEST(message_whose_post_was_not_read_yet_makes_it_incomplete)
{
	post_receive(1, 1);
	poll_received(2, 1);
	assert_false(outstanding_is_whole(o, 10));
	send_one(1, SEND, 7);
	assert_true(outstanding_is_whole(o, 10));
}

TEST(messages_that_nobody_posts_are_given_up)
{
	post_receive(1, 1);
	poll_received(2, 1);
	assert_left("2:1 post 1, 2:2 poll 1");
	assert_left_at(2000000000, "");
	assert_true(outstanding_is_whole(o, 2000000000));
}

TEST(what_was_refused_is_not_outstanding)
{
	post_some(1, 1, A, VERB_post_send, SEND, 7, 3, 1);
	assert_left("1:1 post 7");
}

TEST(first_failure_of_a_queue_pair_stays)
{
	send_one(1, WRITE, 7);
	send_one(2, WRITE, 8);
	poll_one(1, 3, 7, 0, ABI_WC_REM_ACCESS_ERR);
	poll_one(1, 4, 8, 0, ABI_WC_WR_FLUSH_ERR);
	assert_left("1:1 post 7, 1:3 poll 7");
	outstanding_reset_qp(o, 1, A, 5);
	assert_left("");
}

TEST(peer_that_is_not_recorded_leaves_nothing)
{
	assert_int_equal(outstanding_connect_qp(o, 1, A, 99), 0);
	send_one(1, SEND, 7);
	poll_sent(2, 7);
	assert_left("");
}

TEST(what_a_peer_did_is_remembered_though_its_own_end_is_read_later)
{
	outstanding_destroy(o, 2, B);
	send_one(11, SEND, 7);
	poll_sent(12, 7);
	create_qp(B, NUMBER_B, CQ_B, 0, false); /* at 0 */
	assert_int_equal(outstanding_connect_qp(o, 2, B, NUMBER_A), 0);
	post_receive(1, 1);
	poll_received(2, 1);
	assert_left("");
}

enum { LATE = 2000000000 }; /* after more than the second of waiting for the other end */

/* B, which is connected; nothing of A was read yet. */
static void begin_with_b_alone(void)
{
	outstanding_free(o);
	assert_int_equal(outstanding_new(&o), 0);
	create_qp(B, NUMBER_B, CQ_B, 0, false);
	assert_int_equal(outstanding_connect_qp(o, 2, B, NUMBER_A), 0);
}

/* A, and that it has sent @messages, the first of them at @n. */
static void read_a(uint64_t n, uint64_t messages)
{
	create_qp(A, NUMBER_A, CQ_A, 0, false); /* at 0 */
	assert_int_equal(outstanding_connect_qp(o, 1, A, NUMBER_B), 0);
	for (uint64_t i = 0; i < messages; i++) {
		send_one(n + 2 * i, SEND, 71 + i);
		poll_sent(n + 2 * i + 1, 71 + i);
	}
}

TEST(receives_that_were_posted_long_ago_wait_for_their_sender_to_be_read)
{
	begin_with_b_alone();
	for (uint64_t i = 1; i <= 3; i++)
		post_receive(i, i);
	poll_received(LATE, 1);
	poll_received(LATE + 1, 2);
	read_a(LATE - 10, 3);
	assert_left_at(LATE + 2, "1:1999999994 post 73, 1:1999999995 poll 73, 2:3 post 3");
}

TEST(messages_of_an_end_that_is_read_late_are_counted)
{
	begin_with_b_alone();
	for (uint64_t i = 1; i <= 4; i++)
		post_receive(i, i);
	poll_received(5, 1);
	poll_received(LATE, 2);
	poll_received(LATE + 1, 3);
	read_a(4, 4);
	assert_left_at(LATE + 2, "1:10 post 74, 1:11 poll 74, 2:4 post 4");
}

/* More than are stored. */
TEST(messages_that_are_too_many_are_counted)
{
	enum { MANY = (1 << 16) + 5 };

	for (uint64_t i = 1; i <= MANY; i++) {
		post_receive(2 * i, i);
		poll_received(2 * i + 1, i);
	}
	for (uint64_t i = 1; i <= MANY; i++) {
		send_one(2 * i, SEND, i);
		poll_sent(2 * i + 1, i);
	}
	assert_left("");
}

TEST(shared_receive_queue_loses_what_a_queue_pair_took)
{
	create_qp(B, NUMBER_B, CQ_B, SRQ, false);
	assert_int_equal(outstanding_create_srq(o, 2, SRQ, 0), 0);
	assert_int_equal(outstanding_connect_qp(o, 2, B, NUMBER_A), 0);
	post_some(2, 1, SRQ, VERB_post_srq_recv, SEND, 1, 3, 3);
	send_one(1, SEND, 7);
	poll_sent(2, 7);
	poll_received(2, 2);
	assert_left("2:1 post 1, 2:1 post 3");
}

TEST(lost_datagram_is_given_up)
{
	struct event_wr wr[2] = { { .wr_id = 7, .flags = ABI_SEND_SIGNALED, .parts = WR_UD } };
	struct event_place at = index_of(1, 1);
	struct post event = { .post = { .object = A, .nwr = 1 } };
	const struct event_ud ud = { .remote_qpn = NUMBER_B };

	create_qp(A, NUMBER_A, CQ_A, 0, true);
	create_qp(B, NUMBER_B, CQ_B, 0, true);
	wr[0].opcode = ABI_WR_SEND;
	memcpy(event.wrs, wr, sizeof(*wr));
	memcpy(event.wrs + 1, &ud, sizeof(ud));
	event.post.verb = VERB_post_send & 0x1ff;
	assert_int_equal(outstanding_note_post(o, &at, &event.post, 0), 0);
	poll_sent(2, 7);
	assert_left_at(1000, "1:1 post 7, 1:2 poll 7");
	assert_left_at(2000000000, "");
}

TEST(queue_stays_armed_until_its_event_is_fetched)
{
	const struct event_notify notify = { .cq = CQ_A };
	struct event_place at = index_of(1, 3);

	assert_int_equal(outstanding_note_arming(o, &at, &notify), 0);
	assert_left("1:3 arm 202");
	outstanding_note_fetch(o, 1, CQ_A, 5);
	assert_left("");
}

TEST(destroyed_queue_is_not_armed)
{
	const struct event_notify notify = { .cq = CQ_A }, other = { .cq = CQ_B };
	struct event_place at = index_of(1, 3);

	assert_int_equal(outstanding_note_arming(o, &at, &notify), 0);
	assert_int_equal(outstanding_note_arming(o, &at, &other), 0);
	outstanding_destroy_cq(o, 1, CQ_A);
	assert_left("1:3 arm 203");
	outstanding_end_process(o, 1);
	assert_left("");
}

TEST(message_of_a_sender_that_is_gone_stays_until_it_is_received)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	outstanding_destroy(o, 1, A);
	assert_left("1:1 post 7, 2:1 post 1");
	poll_received(2, 1);
	assert_left("");
}

TEST(message_that_was_received_before_its_sender_went_is_gone)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	poll_received(2, 1);
	outstanding_end_process(o, 1);
	assert_left("");
}

TEST(message_between_two_that_are_gone_is_gone)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	outstanding_destroy(o, 1, A);
	outstanding_destroy(o, 2, B);
	assert_left("");
}

TEST(process_that_ends_leaves_nothing_outstanding)
{
	post_receive(1, 1);
	send_one(1, WRITE, 7);
	outstanding_end_process(o, 2);
	assert_left("1:1 post 7");
}

/* Forgetting at a cut, long after all earlier events */

TEST(what_exists_is_not_forgotten)
{
	post_receive(1, 1);
	post_receive(2, 2);
	send_one(1, SEND, 7);
	poll_sent(2, 7);
	poll_received(3, 1);
	outstanding_forget(o, LATE);
	send_one(3, SEND, 8);
	poll_sent(4, 8);
	assert_left("1:3 post 8, 1:4 poll 8, 2:2 post 2");
}

TEST(message_of_a_sender_that_is_gone_is_not_forgotten)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	poll_sent(2, 7);
	outstanding_destroy(o, 1, A);
	outstanding_forget(o, LATE);
	assert_left("1:1 post 7, 1:2 poll 7, 2:1 post 1");
	poll_received(LATE, 1);
	assert_left("");
}

TEST(message_is_forgotten_with_its_receiver)
{
	post_receive(1, 1);
	send_one(1, SEND, 7);
	poll_sent(2, 7);
	outstanding_destroy(o, 2, B);
	outstanding_forget(o, STALE);
	assert_left("1:1 post 7, 1:2 poll 7");
	outstanding_forget(o, LATE);
	assert_left("");
}

TEST(early_completion_is_forgotten_with_its_queue_pair)
{
	poll_sent(1, 7);
	outstanding_forget(o, LATE);
	assert_left("1:1 poll 7");
	outstanding_destroy(o, 1, A);
	outstanding_forget(o, STALE);
	assert_left("1:1 poll 7");
	outstanding_forget(o, LATE);
	assert_left("");
	send_one(2, WRITE, 7);
	assert_left("");
}

/* Clients come, send a message that is not received, and go. */
static void serve_clients(uint32_t first, uint32_t count)
{
	struct event_notify notify = { 0 };

	for (uint32_t i = first; i < first + count; i++) {
		struct event_place at = index_of(1, i);

		create_qp(A, NUMBER_A + 2 * i, CQ_A, 0, i % 2);
		create_qp(B, NUMBER_B + 2 * i, CQ_B, 0, i % 2);
		assert_int_equal(outstanding_connect_qp(o, 1, A, NUMBER_B + 2 * i), 0);
		assert_int_equal(outstanding_connect_qp(o, 2, B, NUMBER_A + 2 * i), 0);
		notify.cq = 1000 + i;
		assert_int_equal(outstanding_note_arming(o, &at, &notify), 0);
		send_one(i, SEND, 7);
		outstanding_destroy(o, 1, A);
		outstanding_destroy(o, 2, B);
		outstanding_destroy_cq(o, 1, notify.cq);
		poll_sent(i, 7);
		if (i % 100 == 0)
			outstanding_forget(o, LATE + i);
	}
}

TEST(clients_that_are_gone_take_no_memory)
{
	size_t before;

	serve_clients(1, 1000);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	serve_clients(1001, 10000);
	assert_in_range(mallinfo2().uordblks + mallinfo2().hblkhd, 0, before + (64 << 10));
}
