/*
 * Timers of requests to another machine, on a machine that is short of processors: what counts as a
 * peer that does not answer.
 */
#include "tests/shim/soft/network/stranger.h"

#include "shim/soft/fabric/process.h"
#include "shim/soft/network/alarm.h"
#include "shim/soft/network/engine.h"
#include "shim/soft/network/requester.h"
#include "shim/soft/transport/retry_timeout.h"

GROUP(open_device, close_device);

enum {
	TIMEOUT = 20, /* 4 s: no test waits for it, and none is so late by itself */
	RETRIES = 1,
	LATE_TIMES = 3, /* in a row, a timer that is noticed late starts again */
	FLOOD = 60,     /* packets, more than are received at once */
	NOT_READY = AETH_RNR | 1,
};

static const uint64_t timer_ns = 4096ull << TIMEOUT;

static int begin_test(void **state)
{
	(void)state;
	settings.timeout = TIMEOUT;
	settings.retry_cnt = RETRIES;
	settings.rnr_retry = RETRIES;
	if (!skipped)
		connect_qp(end.qp);
	return 0;
}

FIXTURE(begin_test, NULL);

static void set_lag(const char *ms)
{
	setenv("VERBATIM_SOFT_LAG", ms, 1);
	retry_timeout_load_lag();
	unsetenv("VERBATIM_SOFT_LAG");
}

static void post_send(void)
{
	struct ibv_sge sge = { (uintptr_t)end.buf, 8, end.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	assert_int_equal(ibv_post_send(end.qp, &wr, &bad), 0);
}

/* The queue pair as the engine has it, which meanwhile receives nothing and expires no timer. */
static struct network_qp *hold_engine(void)
{
	struct soft_qp *qp = to_qp(end.qp);

	engine_lock();
	while (!lock_try(&qp->sq.lock))
		;
	return network_qp_of(qp);
}

static void release_engine(struct network_qp *n)
{
	lock_drop(&n->qp->sq.lock);
	engine_unlock();
}

/* The timer expires, and is noticed so many ns later. Does it count as a try? */
static bool is_counted(struct network_qp *n, uint64_t late)
{
	uint32_t tries = n->req.tries;

	n->due = process_now() - late;
	requester_expire(n);
	assert_true(n->due > process_now());
	return n->req.tries > tries;
}

static void discard_packets(void)
{
	struct header h;

	wait_until_taken();
	while (take_answer(&h))
		;
}

TEST(an_answer_that_waits_in_the_socket_stops_the_timer)
{
	struct header h;
	struct network_qp *n;
	int i;

	NEEDS_NETWORK();
	settings.retry_cnt = 0;
	connect_qp(end.qp);
	post_send();
	n = hold_engine();
	for (i = 0; i < FLOOD; i++) {
		h = header_of(OPCODE_WRITE_ONLY, PSN);
		send_from(stranger, "::ffff:127.0.0.3", &h, bytes, 8, 0);
	}
	h = header_of(OPCODE_ACKNOWLEDGE, PSN);
	h.aeth.syndrome = AETH_ACK;
	send_as_peer(&h, bytes, 0);
	n->due = process_now();
	alarm_wait_for(n->due);
	release_engine(n);
	expect_wc(end.cq, 1, IBV_WC_SUCCESS);
	discard_packets();
}

TEST(a_timer_that_is_noticed_late_starts_again)
{
	struct network_qp *n;
	int try, i;

	NEEDS_NETWORK();
	post_send();
	n = hold_engine();
	for (try = 0; try < RETRIES; try++) {
		for (i = 0; i < LATE_TIMES; i++)
			assert_false(is_counted(n, timer_ns));
		assert_true(is_counted(n, timer_ns));
	}
	assert_false(is_counted(n, timer_ns));
	n->due = process_now();
	requester_expire(n);
	release_engine(n);
	expect_wc(end.cq, 1, IBV_WC_RETRY_EXC_ERR);
	discard_packets();
}

TEST(a_timer_that_is_noticed_a_little_late_counts)
{
	struct network_qp *n;

	NEEDS_NETWORK();
	post_send();
	n = hold_engine();
	assert_true(is_counted(n, timer_ns / 8));
	release_engine(n);
	begin_test(NULL);
	discard_packets();
}

TEST(lag_is_the_least_time_without_an_answer)
{
	struct network_qp *n;
	int i;

	NEEDS_NETWORK();
	set_lag("100000");
	post_send();
	n = hold_engine();
	for (i = 1; i * timer_ns < 100000000000; i++)
		assert_true(is_counted(n, 0));
	n->due = process_now();
	requester_expire(n);
	release_engine(n);
	expect_wc(end.cq, 1, IBV_WC_RETRY_EXC_ERR);
	set_lag("0");
	discard_packets();
}

TEST(lag_is_the_least_time_for_a_receiver)
{
	struct arrival a = { .header = { .aeth.syndrome = NOT_READY } };
	struct network_qp *n;
	int i;

	NEEDS_NETWORK();
	a.header.bth = header_of(OPCODE_ACKNOWLEDGE, PSN).bth;
	set_lag("1");
	post_send();
	n = hold_engine();
	for (i = 1; i * retry_timeout_rnr_ns(NOT_READY) < 1000000; i++) {
		requester_take(n, &a);
		assert_int_equal(n->req.rnr_tries, i);
		n->req.hold = 0;
	}
	requester_take(n, &a);
	release_engine(n);
	expect_wc(end.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	set_lag("0");
	discard_packets();
}
