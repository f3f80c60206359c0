/*
 * Events that steps wait for: queue pair 1 completes on CQ 4, its peer 2 on CQ 5, both without a
 * shared receive queue; 3 is a queue pair for datagrams.
 */
#include <infiniband/verbs.h>

#include "replay/schedule/schedule.h"
#include "tests/test.h"

enum { QP = 1, PEER, DATAGRAMS, CQ, PEER_CQ, OBJECTS, PLAYERS = 9 };

static struct relation of[OBJECTS] = {
	[QP] = { .send_cq = CQ, .recv_cq = CQ, .receives = QP, .peer = PEER },
	[PEER] = { .send_cq = PEER_CQ, .recv_cq = PEER_CQ, .receives = PEER, .peer = QP },
	[DATAGRAMS] = { .send_cq = CQ, .recv_cq = CQ, .receives = DATAGRAMS, .unreliable = true },
};
static struct relations relations = { .of = of, .nobjects = OBJECTS };
static struct schedule *schedule;

static int begin_schedule(void **state)
{
	(void)state;
	return schedule_new(&relations, OBJECTS, PLAYERS,
			    (struct schedule_options){ .counts = true }, &schedule);
}

static int end_schedule(void **state)
{
	(void)state;
	schedule_free(schedule);
	return 0;
}

FIXTURE(begin_schedule, end_schedule);

static struct step schedule_event(struct trace_event event)
{
	struct step step;

	schedule_step(schedule, &(struct ordered_event){ &event, NULL, false }, &step);
	return step;
}

static struct step schedule_request(uint32_t thread, enum verb verb, uint32_t object,
				    enum ibv_wr_opcode opcode)
{
	const struct wr wr = { .opcode = opcode };
	const struct post p = { .verb = verb, .object = object, .nwr = 1, .wr = &wr };

	return schedule_event(
		(struct trace_event){ .kind = TRACE_POST, .id = { thread, 1 }, .post = &p });
}

static struct step schedule_post(uint32_t thread, enum verb verb, uint32_t object)
{
	return schedule_request(thread, verb, object, IBV_WR_SEND);
}

static struct step poll_one(uint32_t thread, uint32_t cq, struct wc wc)
{
	const struct poll p = { .object = cq, .ret = 1, .nwc = 1, .wc = &wc };

	return schedule_event(
		(struct trace_event){ .kind = TRACE_POLL, .id = { thread, 1 }, .poll = &p });
}

static struct step schedule_arming(uint32_t thread, uint32_t cq)
{
	const struct notify n = { .object = cq };

	return schedule_event(
		(struct trace_event){ .kind = TRACE_NOTIFY, .id = { thread, 1 }, .notify = &n });
}

static struct step schedule_call(uint32_t thread, enum verb verb)
{
	const struct call c = { .verb = verb };

	return schedule_event(
		(struct trace_event){ .kind = TRACE_CALL, .id = { thread, 1 }, .call = &c });
}

static bool waits_for(const struct step *step, uint32_t player, uint64_t seq)
{
	for (uint32_t i = 0; i < step->nwaits; i++)
		if (step->waits[i].player == player && step->waits[i].seq >= seq)
			return true;
	return false;
}

static void assert_backwards(const struct step *step)
{
	for (uint32_t i = 0; i < step->nwaits; i++)
		assert_true(step->waits[i].seq < step->seq);
}

TEST(a_thread_waits_for_nothing_of_its_own)
{
	struct step s;

	schedule_post(1, VERB_post_recv, QP);
	s = schedule_post(1, VERB_post_recv, QP);
	assert_int_equal(s.nwaits, 0);
}

/* A synthesized peer sends a message before the event or the poll that reported it. */
TEST(an_event_waits_for_the_polls_before_it)
{
	struct step event;

	poll_one(2, CQ, (struct wc){ .qp = QP, .request = { 2, 1 } });
	event = schedule_call(1, VERB_get_cq_event);
	assert_true(waits_for(&event, EVERY_PLAYER, event.seq - 1));
}

static bool is_second(const void *arg, struct event_id event)
{
	assert_ptr_equal(arg, &relations);
	return event.n == 2;
}

/* A synthesized peer lets a queue pair fail before it. */
TEST(an_event_may_have_to_come_after_all)
{
	const struct poll poll = { .object = PEER_CQ };
	struct step first, second;

	schedule_free(schedule);
	assert_int_equal(schedule_new(&relations, OBJECTS, PLAYERS,
				      (struct schedule_options){ .comes_after_all = is_second,
								 .arg = &relations },
				      &schedule),
			 0);
	schedule_post(2, VERB_post_recv, QP);
	first = schedule_event(
		(struct trace_event){ .kind = TRACE_POLL, .id = { 1, 1 }, .poll = &poll });
	second = schedule_event(
		(struct trace_event){ .kind = TRACE_POLL, .id = { 1, 2 }, .poll = &poll });
	assert_int_equal(first.nwaits, 0);
	assert_true(waits_for(&second, EVERY_PLAYER, second.seq - 1));
}

TEST(a_send_waits_for_the_receives_before_it)
{
	struct step receive = schedule_post(2, VERB_post_recv, PEER),
		    send = schedule_post(1, VERB_post_send, QP);

	assert_int_equal(send.nwaits, 1);
	assert_true(waits_for(&send, 2, receive.seq));
}

/* Message n consumes receive n: later receives may be posted later in the replay. */
TEST(a_send_waits_for_the_receive_that_it_takes)
{
	struct step receives[4], send;

	for (int i = 0; i < 4; i++)
		receives[i] = schedule_post(2, VERB_post_recv, PEER);
	send = schedule_post(1, VERB_post_send, QP);
	assert_int_equal(send.nwaits, 1);
	assert_int_equal(send.waits[0].seq, receives[0].seq);
	send = schedule_post(1, VERB_post_send, QP);
	assert_int_equal(send.waits[0].seq, receives[1].seq);
}

TEST(a_send_before_its_receive_waits_for_those_that_are_there)
{
	struct step receive = schedule_post(2, VERB_post_recv, PEER), send;

	schedule_post(1, VERB_post_send, QP);
	send = schedule_post(3, VERB_post_send, QP);
	assert_true(waits_for(&send, 2, receive.seq));
}

/* Each row makes the count unknown, or useless. */
static struct step fail_post(uint32_t thread, enum verb verb, uint32_t object)
{
	static const struct wr wr = { .opcode = IBV_WR_SEND };
	const struct post p = { .verb = verb, .object = object, .ret = 12, .nwr = 1, .wr = &wr };

	return schedule_event(
		(struct trace_event){ .kind = TRACE_POST, .id = { thread, 1 }, .post = &p });
}

static void refuse_receive(void)
{
	fail_post(2, VERB_post_recv, PEER);
}

static void refuse_send(void)
{
	fail_post(1, VERB_post_send, QP);
}

static void fail_request(void)
{
	poll_one(2, PEER_CQ,
		 (struct wc){ .qp = PEER, .status = IBV_WC_LOC_LEN_ERR, .request = { 2, 1 } });
}

static void stop_queue(void)
{
	of[PEER].stopped = true;
	schedule_post(2, VERB_post_recv, PEER);
	of[PEER].stopped = false;
}

static void forget_peer(void)
{
	of[PEER].peer = 0;
}

static void share_receives(void)
{
	of[PEER].receives = CQ;
}

/* Early completions might overflow the queue. */
static void narrow_queue(void)
{
	of[PEER_CQ].promised = 3;
	of[PEER_CQ].room = 2;
}

static void (*const uncounted[])(void) = { refuse_receive, refuse_send,    fail_request, stop_queue,
					   forget_peer,    share_receives, narrow_queue };

TEST(a_send_waits_for_all_receives_where_they_cannot_be_counted)
{
	const struct relation peer = of[PEER], cq = of[PEER_CQ];

	for (size_t i = 0; i < sizeof(uncounted) / sizeof(*uncounted); i++) {
		struct step last, send;

		schedule_free(schedule);
		assert_int_equal(begin_schedule(NULL), 0);
		schedule_post(2, VERB_post_recv, PEER);
		uncounted[i]();
		last = schedule_post(2, VERB_post_recv, of[PEER].receives);
		send = schedule_post(1, VERB_post_send, QP);
		of[PEER] = peer;
		of[PEER_CQ] = cq;
		assert_true(waits_for(&send, 2, last.seq));
	}
}

/* More than are stored at first. */
TEST(a_thousand_receives_are_counted)
{
	uint64_t first = 0;

	for (int i = 0; i < 1000; i++) {
		struct step receive = schedule_post(2, VERB_post_recv, PEER);

		first = first ? first : receive.seq;
	}
	for (int i = 0; i < 1000; i++) {
		struct step send = schedule_post(1, VERB_post_send, QP);

		assert_int_equal(send.waits[0].seq, first + (uint64_t)i);
	}
}

TEST(nobody_waits_twice_for_the_same)
{
	struct step change = schedule_call(2, VERB_reg_mr), s;

	s = schedule_post(1, VERB_post_recv, QP);
	assert_true(waits_for(&s, 2, change.seq));
	s = schedule_post(1, VERB_post_recv, QP);
	assert_int_equal(s.nwaits, 0);
}

TEST(a_send_does_not_wait_for_what_is_elsewhere)
{
	struct step s;

	schedule_post(2, VERB_post_send, PEER);
	poll_one(2, PEER_CQ, (struct wc){ .qp = PEER, .request = { 2, 1 } });
	s = schedule_post(1, VERB_post_send, QP);
	assert_int_equal(s.nwaits, 0);
}

TEST(posts_of_two_threads_to_a_queue_are_a_chain)
{
	struct step first = schedule_post(1, VERB_post_send, QP),
		    second = schedule_post(2, VERB_post_send, QP);

	assert_true(waits_for(&second, 1, first.seq));
}

TEST(a_post_waits_for_the_poll_that_made_room)
{
	struct step poll, next;

	schedule_post(1, VERB_post_send, QP);
	poll = poll_one(2, CQ, (struct wc){ .qp = QP, .request = { 1, 1 } });
	next = schedule_post(1, VERB_post_send, QP);
	assert_true(waits_for(&next, 2, poll.seq));
}

/* A few threads are distinguished; beyond these, the latest poll stands for all. */
TEST(a_post_waits_for_the_polls_of_all_threads_that_made_room)
{
	for (uint32_t pollers = 1; pollers < PLAYERS - 1; pollers++) {
		struct step polls[PLAYERS], next;

		end_schedule(NULL);
		assert_int_equal(begin_schedule(NULL), 0);
		for (uint32_t i = 0; i < pollers; i++)
			schedule_post(1, VERB_post_send, QP);
		for (uint32_t i = 0; i < pollers; i++) {
			polls[i] =
				poll_one(2 + i, CQ, (struct wc){ .qp = QP, .request = { 1, 1 } });
		}
		next = schedule_post(1, VERB_post_send, QP);
		for (uint32_t i = 0; i < pollers; i++)
			assert_true(waits_for(&next, 2 + i, polls[i].seq) ||
				    waits_for(&next, EVERY_PLAYER, polls[pollers - 1].seq));
		assert_true(pollers <= 3 ? !waits_for(&next, EVERY_PLAYER, 1)
					 : waits_for(&next, EVERY_PLAYER, 1));
	}
}

TEST(a_poll_waits_for_the_post_of_another_thread)
{
	struct step send = schedule_post(1, VERB_post_send, QP);
	struct step poll = poll_one(2, CQ, (struct wc){ .qp = QP, .request = { 1, 1 } });

	assert_true(waits_for(&poll, 1, send.seq));
}

/* A failed completion does not say which queue its request was posted to. */
TEST(a_poll_waits_for_the_queue_that_its_request_was_posted_to)
{
	const struct wc success = { .qp = QP, .request = { 1, 1 } };
	const struct wc received = { .qp = QP,
				     .request = { 1, 1 },
				     .opcode = IBV_WC_RECV_RDMA_WITH_IMM };
	const struct wc failed = { .qp = QP, .request = { 1, 1 }, .status = IBV_WC_WR_FLUSH_ERR };
	struct step send = schedule_post(1, VERB_post_send, QP);
	struct step receive = schedule_post(3, VERB_post_recv, QP);
	struct step poll = poll_one(2, CQ, success);

	assert_true(waits_for(&poll, 1, send.seq) && !waits_for(&poll, 3, receive.seq));
	poll = poll_one(4, CQ, received);
	assert_true(waits_for(&poll, 3, receive.seq) && !waits_for(&poll, 1, send.seq));
	poll = poll_one(5, CQ, failed);
	assert_true(waits_for(&poll, 3, receive.seq) && waits_for(&poll, 1, send.seq));
}

TEST(a_poll_waits_for_no_post_of_its_own_thread)
{
	struct step poll;

	schedule_post(1, VERB_post_send, QP);
	poll = poll_one(1, CQ, (struct wc){ .qp = QP, .request = { 1, 1 } });
	assert_int_equal(poll.nwaits, 0);
	schedule_post(2, VERB_post_send, QP);
	poll = poll_one(1, CQ, (struct wc){ .qp = QP });
	assert_int_equal(poll.nwaits, 0);
}

TEST(a_send_waits_until_the_queue_of_its_peer_is_armed)
{
	struct step armed = schedule_arming(2, PEER_CQ),
		    send = schedule_post(1, VERB_post_send, QP);

	assert_true(waits_for(&send, 2, armed.seq));
}

TEST(a_destroy_waits_for_all_and_all_wait_for_it)
{
	struct step send = schedule_post(1, VERB_post_send, QP),
		    destroy = schedule_call(2, VERB_dereg_mr);
	struct step next = schedule_post(3, VERB_post_recv, PEER);

	assert_true(waits_for(&destroy, EVERY_PLAYER, send.seq));
	assert_true(waits_for(&next, 2, destroy.seq));
}

/* The failure stops the queue pairs at both ends. */
TEST(a_request_that_fails_waits_for_all_and_all_wait_for_it)
{
	static const struct wr wr = { .opcode = IBV_WR_RDMA_WRITE };
	const struct post post = { .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = &wr };
	const struct trace_event event = { .kind = TRACE_POST, .id = { 1, 1 }, .post = &post };
	struct step before = schedule_post(2, VERB_post_send, PEER), fails, after;

	schedule_step(schedule, &(struct ordered_event){ &event, NULL, true }, &fails);
	after = schedule_post(2, VERB_post_send, PEER);
	assert_true(waits_for(&fails, EVERY_PLAYER, before.seq));
	assert_true(waits_for(&after, 1, fails.seq));
}

TEST(all_wait_for_the_poll_of_a_request_that_failed)
{
	static const struct {
		int status;
		bool stops;
	} rows[] = { { IBV_WC_SUCCESS, false },
		     { IBV_WC_WR_FLUSH_ERR, false }, /* the consequence of another failure */
		     { IBV_WC_REM_ACCESS_ERR, true },
		     { IBV_WC_RNR_RETRY_EXC_ERR, true } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct step poll, after;

		end_schedule(NULL);
		assert_int_equal(begin_schedule(NULL), 0);
		poll = poll_one(1, CQ, (struct wc){ .qp = QP, .status = rows[i].status });
		after = schedule_post(2, VERB_post_recv, PEER);
		assert_int_equal(waits_for(&after, 1, poll.seq), rows[i].stops);
	}
}

TEST(a_creation_waits_for_no_traffic)
{
	struct step s;

	schedule_post(1, VERB_post_send, QP);
	s = schedule_call(2, VERB_reg_mr);
	assert_int_equal(s.nwaits, 0);
}

TEST(a_send_to_an_unknown_place_waits_for_all)
{
	struct step send, receive = schedule_post(2, VERB_post_recv, PEER);

	send = schedule_post(1, VERB_post_send, DATAGRAMS);
	assert_true(waits_for(&send, EVERY_PLAYER, receive.seq));
}

static const enum ibv_wr_opcode reaching[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
					       IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };

TEST(a_request_waits_for_the_bind_of_a_window_before_it)
{
	for (size_t i = 0; i < sizeof(reaching) / sizeof(*reaching); i++) {
		struct step bind, reach;

		end_schedule(NULL);
		assert_int_equal(begin_schedule(NULL), 0);
		bind = schedule_request(2, VERB_post_send, PEER, IBV_WR_BIND_MW);
		reach = schedule_request(1, VERB_post_send, QP, reaching[i]);
		assert_true(waits_for(&reach, 2, bind.seq));
	}
}

TEST(a_request_waits_for_the_invalidation_of_a_window_before_it)
{
	struct step invalidation = schedule_request(2, VERB_post_send, PEER, IBV_WR_LOCAL_INV);
	struct step reach = schedule_request(1, VERB_post_send, QP, IBV_WR_RDMA_READ);

	assert_true(waits_for(&reach, 2, invalidation.seq));
}

TEST(a_request_waits_until_a_window_is_known_to_be_bound)
{
	const struct wc bound = { .qp = PEER, .opcode = IBV_WC_BIND_MW, .request = { 2, 1 } };
	struct step bind = schedule_request(2, VERB_post_send, PEER, IBV_WR_BIND_MW), poll, reach;

	poll = poll_one(3, PEER_CQ, bound);
	reach = schedule_request(1, VERB_post_send, QP, IBV_WR_RDMA_WRITE);
	assert_true(waits_for(&reach, 2, bind.seq) && waits_for(&reach, 3, poll.seq));
}

TEST(a_message_waits_for_no_window)
{
	struct step send;

	schedule_request(2, VERB_post_send, PEER, IBV_WR_BIND_MW);
	send = schedule_post(1, VERB_post_send, QP);
	assert_int_equal(send.nwaits, 0);
}

/* A request that came before a window was changed reached it as it was before. */
TEST(a_window_is_changed_after_the_requests_before_it)
{
	static const enum ibv_wr_opcode changes[] = { IBV_WR_BIND_MW, IBV_WR_LOCAL_INV };
	const struct wc written = { .qp = QP, .opcode = IBV_WC_RDMA_WRITE, .request = { 1, 1 } };

	for (size_t i = 0; i < 2; i++) {
		struct step write, poll, change;

		end_schedule(NULL);
		assert_int_equal(begin_schedule(NULL), 0);
		write = schedule_request(1, VERB_post_send, QP, IBV_WR_RDMA_WRITE);
		poll = poll_one(3, CQ, written);
		change = schedule_request(2, VERB_post_send, PEER, changes[i]);
		assert_true(waits_for(&change, 1, write.seq) && waits_for(&change, 3, poll.seq));
	}
}

/* Therefore one thread can always proceed, whatever the events are. */
TEST(waits_name_earlier_steps)
{
	unsigned int dice = 1;

	for (int i = 0; i < 20000; i++) {
		uint32_t thread = 1 + (dice = dice * 1103515245 + 12345) / 65536 % PLAYERS;
		uint32_t object = 1 + dice / 1024 % (OBJECTS - 1);
		struct step s;

		switch (dice / 16 % 6) {
		case 0:
			s = schedule_post(thread, VERB_post_send, object);
			break;
		case 1:
			s = schedule_post(thread, VERB_post_recv, object);
			break;
		case 2:
			s = poll_one(thread, object,
				     (struct wc){ .qp = 1 + object % 3, .request = { 1, 1 } });
			break;
		case 3:
			s = schedule_arming(thread, object);
			break;
		case 4:
			s = schedule_call(thread, VERB_reg_mr);
			break;
		default:
			s = schedule_call(thread, VERB_modify_qp);
			break;
		}
		assert_backwards(&s);
	}
}

/* With groups: players 1 and 2 have queues of their own, of which nobody else knows. */
enum { OWN = DATAGRAMS, OTHER_CQ = OBJECTS };

static void begin_groups(void)
{
	schedule_free(schedule);
	assert_int_equal(schedule_new(&relations, OBJECTS, PLAYERS,
				      (struct schedule_options){ .groups = true }, &schedule),
			 0);
}

static struct step schedule_verb(uint32_t thread, enum verb verb, uint32_t object)
{
	const struct call c = { .verb = verb, .object = object, .end = 1 };

	return schedule_event(
		(struct trace_event){ .kind = TRACE_CALL, .id = { thread, 1 }, .call = &c });
}

TEST(control_verbs_of_threads_without_common_objects_have_no_order)
{
	struct step step;

	begin_groups();
	schedule_verb(1, VERB_create_qp, OWN);
	schedule_post(1, VERB_post_recv, OWN);
	schedule_verb(1, VERB_modify_qp, OWN);
	step = schedule_verb(2, VERB_create_cq, OTHER_CQ);
	assert_int_equal(step.nwaits, 0);
	step = schedule_verb(2, VERB_destroy_cq, OTHER_CQ);
	assert_int_equal(step.nwaits, 0);
	step = schedule_post(1, VERB_post_recv, OWN);
	assert_int_equal(step.nwaits, 0);
}

TEST(a_thread_that_begins_to_use_an_object_waits_for_all_of_its_users)
{
	struct step created, posted, step;

	begin_groups();
	created = schedule_verb(1, VERB_create_qp, OWN);
	posted = schedule_verb(3, VERB_create_cq, OTHER_CQ);
	step = schedule_post(2, VERB_post_recv, OWN);
	assert_true(waits_for(&step, 1, created.seq));
	assert_false(waits_for(&step, 3, posted.seq));
	step = schedule_post(1, VERB_post_recv, OWN);
	assert_true(waits_for(&step, 2, step.seq - 1));
}

TEST(a_destroy_waits_for_the_users_of_its_object)
{
	struct step first, second, step;

	begin_groups();
	schedule_verb(1, VERB_create_qp, OWN);
	first = schedule_post(2, VERB_post_recv, OWN);
	schedule_post(1, VERB_post_recv, OWN);
	second = schedule_post(2, VERB_post_recv, OWN);
	schedule_verb(3, VERB_create_cq, OTHER_CQ);
	step = schedule_verb(1, VERB_destroy_qp, OWN);
	assert_true(first.seq < second.seq);
	assert_true(waits_for(&step, 2, second.seq));
	assert_int_equal(step.nwaits, 1);
	step = schedule_post(2, VERB_post_recv, OWN);
	assert_true(waits_for(&step, 1, step.seq - 1));
}

/* The verb may use whatever any thread has created. */
TEST(another_control_verb_waits_for_all_and_all_wait_for_it)
{
	struct step step;

	begin_groups();
	schedule_verb(1, VERB_create_qp, OWN);
	step = schedule_verb(2, VERB_create_srq, OTHER_CQ);
	assert_true(waits_for(&step, EVERY_PLAYER, step.seq - 1));
	step = schedule_verb(1, VERB_modify_qp, OWN);
	assert_true(waits_for(&step, 2, step.seq - 1));
}

TEST(an_event_of_a_device_connects_all)
{
	struct step step;

	begin_groups();
	schedule_verb(1, VERB_create_qp, OWN);
	schedule_call(2, VERB_get_async_event);
	schedule_verb(3, VERB_create_cq, OTHER_CQ);
	step = schedule_verb(1, VERB_destroy_qp, OWN);
	assert_true(waits_for(&step, EVERY_PLAYER, step.seq - 1));
}
