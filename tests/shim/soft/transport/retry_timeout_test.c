/* How long a send waits for its receiver. */
#include <time.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

/* The end is reset and connected again, with @rnr_retry. */
static void connect_with(struct ibv_qp *qp, uint32_t dest, uint8_t rnr_retry)
{
	assert_int_equal(to_state(qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(qp, dest), 0);
	assert_int_equal(to_rts_with(qp, rnr_retry), 0);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int setup_real(void **state)
{
	int err;

	setenv("VERBATIM_SOFT_TIMERS", "real", 1);
	err = pair_setup(state);
	unsetenv("VERBATIM_SOFT_TIMERS");
	return err;
}

/* The responder's RNR timer, as it is encoded. */
static void set_rnr_timer(struct ibv_qp *qp, uint8_t timer)
{
	struct ibv_qp_attr attr = { .min_rnr_timer = timer };

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_MIN_RNR_TIMER), 0);
}

static void set_timeout(struct ibv_qp *qp, uint8_t timeout, uint8_t retry_cnt)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = timeout,
				    .retry_cnt = retry_cnt,
				    .rnr_retry = 7,
				    .max_rd_atomic = 1 };

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(receiver_that_posts_is_waited_for_even_with_no_retries)
{
	struct pair *p = *state;

	connect_with(p->a.qp, p->b.qp->qp_num, 0);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(send_at(&p->a, 3, 0, 7), 0);
	expect_none(p->a.cq);
	assert_int_equal(recv_at(&p->b, 4, 0, 100), 0);
	expect_wc(p->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 4, IBV_WC_SUCCESS);
}

TEST(receiver_that_has_stopped_is_given_up)
{
	struct pair *p = *state;

	connect_with(p->a.qp, p->b.qp->qp_num, 0);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 7), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 3, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(own_receiver_that_never_posts_is_not_waited_for)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	connect_with(p->a.qp, p->b.qp->qp_num, 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	assert_int_equal(ibv_poll_cq(p->a.cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void post_when_told(struct end *e, int fd, struct address yours)
{
	(void)yours;
	await_word(fd);
	assert_int_equal(recv_at(e, 1, 0, 100), 0);
	expect_wc(e->cq, 1, IBV_WC_SUCCESS);
}

/* The process has had no processor time yet. */
TEST(process_that_has_not_posted_yet_is_waited_for)
{
	struct pair *p = *state;
	struct fellow f = fellow_start(post_when_told);

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	fellow_meet(&f, &p->a);
	connect_with(p->a.qp, f.address.qpn, 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	say_bytes(f.fd, "p", 1);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(fellow_stop(&f), 0);
}

/* IBA 9.7.5.2.8: 24 is 40.96 ms, 0 is 655.36 ms */
TEST_WITH(real_timer_of_a_late_receiver_runs_out, setup_real, pair_teardown)
{
	static const struct {
		uint8_t timer;
		double ms;
	} rows[] = { { 24, 40.96 }, { 0, 655.36 } };
	struct pair *p = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		double start = now_ms();

		set_rnr_timer(p->b.qp, rows[i].timer);
		assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
		assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
		expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
		assert_true(now_ms() - start >= rows[i].ms);
		expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	}
}

TEST_WITH(real_timers_run_out_rnr_retry_times, setup_real, pair_teardown)
{
	struct pair *p = *state;
	double start;

	connect_with(p->a.qp, p->b.qp->qp_num, 3);
	set_rnr_timer(p->b.qp, 20); /* 10.24 ms */
	start = now_ms();
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_true(now_ms() - start >= 3 * 10.24);
}

TEST_WITH(no_timer_runs_with_no_retries, setup_real, pair_teardown)
{
	struct pair *p = *state;
	struct ibv_wc wc[2];

	connect_with(p->a.qp, p->b.qp->qp_num, 0);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 7), 0);
	assert_int_equal(ibv_poll_cq(p->a.cq, 2, wc), 2);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[1].status, IBV_WC_RNR_RETRY_EXC_ERR);
}

/* The peer does not respond before RTR: the packet is sent again after 4.096 us * 2^timeout. */
TEST_WITH(real_timeout_runs_out_before_a_peer_is_tried_again, setup_real, pair_teardown)
{
	struct pair *p = *state;
	double start;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	set_timeout(p->a.qp, 14, 7); /* 67.1 ms */
	start = now_ms();
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_true(now_ms() - start >= 67.1);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

TEST_WITH(real_timeouts_run_out_retry_cnt_times, setup_real, pair_teardown)
{
	struct pair *p = *state;
	double start;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	set_timeout(p->a.qp, 12, 2); /* 16.8 ms */
	start = now_ms();
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	assert_true(now_ms() - start >= 2 * 16.77);
}
