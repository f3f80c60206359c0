/*
 * The data path of the recorder, over a provider that does nothing
 *
 * Each child makes a session, calls verbs, and reads its own rings.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/wire/desc.h"
#include "tests/shim/trace/provider.h"
#include "tests/test.h"

static struct ibv_cq cq = { .context = &context };

static void post_body(void)
{
	struct ring ring;
	const struct event_post *post;
	const struct event_wr *wr;
	const struct event_sge *sge;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(send_one(42) == 0);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->verb == VERB_post_send && post->nwr == 1 && post->ret == 0);
	HOLDS(post->object == (uintptr_t)&qp && post->head.words == 8);
	wr = (const void *)(post + 1);
	HOLDS(wr->wr_id == 42 && wr->opcode == IBV_WR_SEND && wr->nsge == 1 && !wr->parts);
	HOLDS(wr->flags == IBV_SEND_SIGNALED);
	sge = (const void *)(wr + 1);
	HOLDS(sge->addr == 0x1000 && sge->length == 64 && sge->lkey == 7);
}

TEST(post_is_one_event_of_64_bytes)
{
	in_child(post_body);
}

static void failed_post_body(void)
{
	struct ibv_send_wr second = { .wr_id = 2 }, first = { .wr_id = 1, .next = &second }, *bad;
	struct ring ring;
	const struct event_post *post;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = ENOMEM;
	next_errno = EIO;
	errno = 0;
	HOLDS(ibv_post_send(&qp, &first, &bad) == ENOMEM && errno == EIO && bad == &second);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 2 && post->ret == ENOMEM && post->bad == 2);
}

TEST(failed_post_keeps_result_errno_and_bad_wr)
{
	in_child(failed_post_body);
}

static struct ibv_send_wr *posted;

/* actions of another thread that polls the completion and frees the request */
static void free_posted(void)
{
	posted->next = (void *)0x10;
}

static void freed_post_body(void)
{
	struct ibv_send_wr second = { .wr_id = 2 }, first = { .wr_id = 1, .next = &second }, *bad;
	struct ring ring;
	const struct event_post *post;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = ENOMEM;
	bad_wr = &second;
	posted = &first;
	during = free_posted;
	HOLDS(ibv_post_send(&qp, &first, &bad) == ENOMEM && bad == &second);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 2 && post->ret == ENOMEM && post->bad == 2);
}

TEST(failed_post_does_not_look_at_what_was_posted)
{
	in_child(freed_post_body);
}

static void rdma_body(void)
{
	struct ibv_send_wr wr = { .wr_id = 9,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .imm_data = htobe32(0x11223344),
				  .wr.rdma = { .remote_addr = 0xabc0, .rkey = 77 } },
			   *bad;
	struct ring ring;
	const struct event_post *post;
	const struct event_wr *got;
	const struct event_rdma *rdma;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!ibv_post_send(&qp, &wr, &bad));
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	got = (const void *)(post + 1);
	rdma = (const void *)(got + 1);
	HOLDS(got->parts == WR_RDMA && got->imm == 0x11223344);
	HOLDS(rdma->remote_addr == 0xabc0 && rdma->rkey == 77);
}

TEST(remote_address_and_immediate_are_recorded)
{
	in_child(rdma_body);
}

static void bogus_sges_body(void)
{
	struct ibv_send_wr wr = { .num_sge = 1 << 20, .sg_list = (void *)8 }, *bad;
	struct ring ring;
	const struct event_post *post;
	const struct event_wr *got;
	const struct event_odd *odd;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = EINVAL;
	wr.opcode = IBV_WR_SEND;
	HOLDS(ibv_post_send(&qp, &wr, &bad) == EINVAL);
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	got = (const void *)(post + 1);
	odd = (const void *)(got + 1);
	HOLDS(got->nsge == 0 && got->parts == WR_ODD && odd->num_sge == 1 << 20);
}

TEST(impossible_number_of_sges_is_not_followed)
{
	in_child(bogus_sges_body);
}

static void no_sges_body(void)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV, .num_sge = 3, .sg_list = (void *)8 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .num_sge = 2, .next = &inv }, *bad;
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad_recv;
	const struct event_post *post;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!ibv_post_send(&qp, &send, &bad));
	HOLDS(!ibv_post_recv(&qp, &recv, &bad_recv));
	ring = session_ring(0);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 2);
	post = expect_event(&ring, EVENT_POST);
	HOLDS(post && post->nwr == 1 && ((const struct event_wr *)(post + 1))->nsge == 0);
}

TEST(sges_that_are_not_there_are_not_read)
{
	in_child(no_sges_body);
}

static void long_list_body(void)
{
	enum { N = 3000 };
	static struct ibv_send_wr wr[N];
	struct ibv_send_wr *bad;
	struct ring ring;
	const struct event_post *post;
	unsigned int total = 0;

	begin_data(1 << 20, ON_FULL_WAIT);
	for (int i = 0; i < N; i++) {
		wr[i].wr_id = (uint64_t)i;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].next = i + 1 < N ? &wr[i + 1] : NULL;
	}
	HOLDS(!ibv_post_send(&qp, wr, &bad));
	ring = session_ring(0);
	do {
		post = expect_event(&ring, EVENT_POST);
		HOLDS(post);
		total += post->nwr;
	} while (post->head.flags & EVENT_PART);
	HOLDS(total == N && !expect_event(&ring, EVENT_POST));
}

TEST(long_list_goes_on_in_parts)
{
	in_child(long_list_body);
}

static void polls_body(void)
{
	struct ibv_wc wc;
	struct ring ring;
	const struct event_poll *poll;
	const struct event_wc *got;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = 0;
	for (int i = 0; i < 1000; i++)
		HOLDS(ibv_poll_cq(&cq, 1, &wc) == 0);
	next_ret = 1;
	next_wc = (struct ibv_wc){ .wr_id = 5, .status = IBV_WC_RETRY_EXC_ERR, .qp_num = 17 };
	HOLDS(ibv_poll_cq(&cq, 1, &wc) == 1);
	ring = session_ring(0);
	poll = expect_event(&ring, EVENT_POLL);
	HOLDS(poll && poll->empty == 1000 && poll->ret == 1 && poll->nwc == 1);
	got = (const void *)(poll + 1);
	HOLDS(got->wr_id == 5 && got->status == IBV_WC_RETRY_EXC_ERR && got->qp_num == 17);
	HOLDS(!expect_event(&ring, EVENT_POLL));
}

static void filled_body(void)
{
	const struct event_poll *poll;
	struct ibv_wc wc[3];
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	next_ret = 1;
	for (int room = 1; room <= 3; room++)
		HOLDS(ibv_poll_cq(&cq, room, wc) == 1);
	next_wc.status = IBV_WC_RETRY_EXC_ERR;
	HOLDS(ibv_poll_cq(&cq, 1, wc) == 1);
	next_ret = -1;
	HOLDS(ibv_poll_cq(&cq, -1, wc) == -1);
	ring = session_ring(0);
	for (int i = 0; i < 5; i++) {
		poll = expect_event(&ring, EVENT_POLL);
		HOLDS(poll && !(poll->head.flags & EVENT_FILLED) == (i != 0 && i != 3));
	}
}

TEST(a_poll_that_fills_its_array_says_so)
{
	in_child(filled_body);
}

TEST(empty_polls_are_counted_not_recorded)
{
	in_child(polls_body);
}

static void many_cqs_body(void)
{
	enum { N = 40 };
	static struct ibv_cq cqs[N];
	struct ibv_wc wc;
	struct ring ring;
	unsigned int found = 0;

	begin_data(RING_MIN, ON_FULL_WAIT);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < N; i++) {
			cqs[i].context = &context;
			ibv_poll_cq(&cqs[i], 1, &wc);
		}
	}
	ring = session_ring(0);
	for (int i = 0; i < RING_POLLS; i++) {
		if (!atomic_load(&ring.head->polls[i].cq))
			continue;
		HOLDS(atomic_load(&ring.head->polls[i].empty) == 10);
		found++;
	}
	HOLDS(found == N);
}

static void more_cqs_body(void)
{
	static struct ibv_cq cqs[RING_POLLS + 7];
	struct ibv_wc wc;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	for (int i = 0; i < RING_POLLS + 7; i++) {
		cqs[i].context = &context;
		ibv_poll_cq(&cqs[i], 1, &wc);
	}
	ring = session_ring(0);
	HOLDS(atomic_load(&ring.head->uncounted) == 7);
}

TEST(each_cq_has_its_own_counter)
{
	in_child(many_cqs_body);
}

TEST(polls_of_more_cqs_than_counters_are_reported)
{
	in_child(more_cqs_body);
}

static void post_in_handler(int sig)
{
	(void)sig;
	during = NULL;
	send_one(2);
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static void nested_body(void)
{
	struct ring ring;
	const struct event_post *post;

	begin_data(RING_MIN, ON_FULL_WAIT);
	signal(SIGUSR1, post_in_handler);
	during = raise_usr1;
	HOLDS(!send_one(1) && !send_one(3));
	ring = session_ring(0);
	for (uint64_t id = 1; id <= 3; id++) {
		post = expect_event(&ring, EVENT_POST);
		HOLDS(post && ((const struct event_wr *)(post + 1))->wr_id == id);
	}
}

TEST(post_in_a_signal_handler_inside_a_post_is_kept)
{
	in_child(nested_body);
}

static jmp_buf away;

static void jump_away(void)
{
	longjmp(away, 1);
}

static void left_body(void)
{
	const struct event_post *post;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	during = jump_away;
	if (!setjmp(away))
		send_one(1);
	during = NULL;
	HOLDS(!send_one(2));
	ring = session_ring(0);
	for (uint64_t id = 1; id <= 2; id++) {
		post = expect_event(&ring, EVENT_POST);
		HOLDS(post && ((const struct event_wr *)(post + 1))->wr_id == id);
	}
}

TEST(post_left_by_longjmp_holds_nothing_back)
{
	in_child(left_body);
}

static void drop_body(void)
{
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_DROP);
	for (int i = 0; i < 100000; i++)
		HOLDS(!send_one((uint64_t)i));
	ring = session_ring(0);
	HOLDS(atomic_load(&ring.head->dropped) > 90000);
	HOLDS(atomic_load(&ring.head->drop_first) < atomic_load(&ring.head->drop_last));
}

TEST(full_ring_drops_and_counts)
{
	in_child(drop_body);
}

static void orphan_body(void)
{
	int status;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, &status, 0);
	begin_data(RING_MIN, ON_FULL_WAIT);
	session.page->collector = (uint32_t)gone;
	for (int i = 0; i < 100000; i++)
		HOLDS(!send_one((uint64_t)i));
	HOLDS(atomic_load(&session.page->state) == SESSION_ORPHAN);
}

/* Read all events, so that the ring has space. */
static void empty_ring(struct ring *ring)
{
	const struct event_head *event;
	int bytes;

	while ((bytes = ring_peek(ring, &event)) > 0) {
		ring_step(ring, (size_t)bytes);
		ring_consume(ring);
	}
	HOLDS(bytes == 0);
}

/* The collector is stopped while a thread waits for it, and then continues. */
static void stalled_body(void)
{
	const struct event_waited *waited;
	const uint64_t most = 5000000;
	pid_t stands = fork();
	struct ring ring;

	if (!stands) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
	}
	begin_data(RING_MIN, ON_FULL_WAIT);
	session.page->collector = (uint32_t)stands;
	session.page->collector_start = session_process_start(stands);
	session.page->max_wait = most;
	/* the second wait is reported separately */
	for (int turn = 0; turn < 2; turn++) {
		uint64_t since = clock_ticks(session.page->clock.kind);

		for (int i = 0; i < 100000; i++)
			HOLDS(!send_one((uint64_t)i));
		if (!turn)
			ring = session_ring(0);
		HOLDS(atomic_load(&ring.head->dropped));
		empty_ring(&ring);
		HOLDS(!send_one(7));
		waited = expect_event(&ring, EVENT_WAITED);
		HOLDS(waited && waited->times && waited->why == WAITED_ROOM);
		HOLDS(clock_ns(&session.page->clock, waited->ticks) -
			      clock_ns(&session.page->clock, 0) >=
		      (int64_t)most);
		HOLDS(waited->head.ticks >= since);
		HOLDS(waited->ticks <= clock_ticks(session.page->clock.kind) - since);
		HOLDS(expect_event(&ring, EVENT_POST));
		ring_consume(&ring);
	}
	kill(stands, SIGKILL);
}

TEST(waiting_for_room_is_recorded_when_there_is_room)
{
	in_child(stalled_body);
}

static void no_wait_body(void)
{
	const struct event_head *event;
	struct ring ring;
	int bytes;

	begin_data(RING_MIN, ON_FULL_WAIT);
	for (int i = 0; i < 100; i++)
		HOLDS(!send_one((uint64_t)i));
	ring = session_ring(0);
	while ((bytes = ring_peek(&ring, &event)) > 0) {
		HOLDS(event->type != EVENT_WAITED);
		ring_step(&ring, (size_t)bytes);
	}
	HOLDS(bytes == 0);
}

TEST(a_thread_with_room_has_not_waited)
{
	in_child(no_wait_body);
}

static void *send_while_cancelled(void *done)
{
	pthread_cancel(pthread_self());
	for (int i = 0; i < 100000; i++)
		send_one((uint64_t)i);
	*(bool *)done = true;
	return NULL;
}

static void cancelled_body(void)
{
	bool done = false;
	pthread_t thread;
	int status;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, &status, 0);
	begin_data(RING_MIN, ON_FULL_WAIT);
	session.page->collector = (uint32_t)gone;
	HOLDS(!pthread_create(&thread, NULL, send_while_cancelled, &done));
	pthread_join(thread, NULL);
	HOLDS(done);
}

TEST(dead_collector_does_not_stop_the_program)
{
	in_child(orphan_body);
}

TEST(waiting_for_room_is_no_cancellation_point)
{
	in_child(cancelled_body);
}
