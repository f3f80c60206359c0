/* How long a send waits for its receiver. */
#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

/* The end begins anew, with @rnr_retry. */
static void connect_with(struct ibv_qp *qp, uint32_t dest, uint8_t rnr_retry)
{
	assert_int_equal(to_state(qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(qp, dest), 0);
	assert_int_equal(to_rts_with(qp, rnr_retry), 0);
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

/* It has had no processor yet. */
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
