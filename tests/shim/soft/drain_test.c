#include <poll.h>
#include <stdbool.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static int drain_sq(struct pair *p, uint8_t notify)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify };

	return ibv_modify_qp(p->a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY);
}

static struct ibv_qp_attr query_sq(struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(p->a.qp, &attr, IBV_QP_STATE, &init), 0);
	return attr;
}

static bool has_event(struct end *e)
{
	struct pollfd pfd = { .fd = e->context->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void expect_drained(struct pair *p)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(p->a.context, &event), 0);
	ibv_ack_async_event(&event);
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, p->a.qp);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(empty_queue_is_drained_at_once)
{
	struct pair *p = *state;

	assert_int_equal(drain_sq(p, 1), 0);
	assert_int_equal(query_sq(p).sq_draining, 0);
	assert_int_equal(query_sq(p).en_sqd_async_notify, 1);
	expect_drained(p);
	assert_false(has_event(&p->a));
}

TEST(no_event_comes_unless_asked_for)
{
	struct pair *p = *state;

	assert_int_equal(drain_sq(p, 0), 0);
	assert_int_equal(query_sq(p).qp_state, IBV_QPS_SQD);
	assert_false(has_event(&p->a));
	/* the thread that requested it before gets no event either */
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	assert_int_equal(drain_sq(p, 1), 0);
	expect_drained(p);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_SQD), 0);
	assert_false(has_event(&p->a));
}

TEST(request_that_has_begun_ends_first)
{
	struct pair *p = *state;

	assert_int_equal(send_at(&p->a, 1, 0, 8), 0); /* no process receives it */
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	assert_int_equal(drain_sq(p, 1), 0);
	assert_int_equal(query_sq(p).sq_draining, 1);
	assert_false(has_event(&p->a));
	assert_int_equal(recv_at(&p->b, 3, 0, 8), 0);
	assert_int_equal(recv_at(&p->b, 4, 0, 8), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_drained(p);
	assert_int_equal(query_sq(p).sq_draining, 0);
	/* requests that had not begun are not executed */
	expect_wc(p->b.cq, 3, IBV_WC_SUCCESS);
	expect_none(p->a.cq);
	expect_none(p->b.cq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 4, IBV_WC_SUCCESS);
	assert_false(has_event(&p->a));
}

TEST(posts_wait_for_the_return)
{
	struct pair *p = *state;
	int i;

	assert_int_equal(drain_sq(p, 0), 0);
	assert_int_equal(recv_at(&p->b, 3, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	for (i = 0; i < 10; i++)
		expect_none(p->a.cq);
	expect_none(p->b.cq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 3, IBV_WC_SUCCESS);
}

TEST(drained_end_still_receives)
{
	struct pair *p = *state;

	assert_int_equal(drain_sq(p, 0), 0);
	assert_int_equal(recv_at(&p->a, 3, 0, 8), 0);
	assert_int_equal(send_at(&p->b, 1, 0, 8), 0);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 3, IBV_WC_SUCCESS);
}

TEST(address_changes_while_drained)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = { .timeout = 1,
				    .retry_cnt = 0,
				    .ah_attr = { .dlid = 77, .port_num = 1 } };

	assert_int_equal(recv_at(&p->b, 3, 0, 8), 0);
	assert_int_equal(recv_at(&p->b, 4, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr, IBV_QP_AV), EINVAL);
	assert_int_equal(drain_sq(p, 0), 0);
	assert_int_equal(
		ibv_modify_qp(p->a.qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT), 0);
	assert_int_equal(query_sq(p).ah_attr.dlid, 77);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_none(p->b.cq);
}

TEST(error_while_draining_flushes)
{
	struct pair *p = *state;

	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	assert_int_equal(drain_sq(p, 1), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_ERR), 0);
	expect_wc(p->a.cq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(query_sq(p).sq_draining, 0);
	assert_false(has_event(&p->a));
}

TEST(reset_takes_everything_back)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->a, 3, 0, 8), 0);
	assert_int_equal(recv_at(&p->b, 4, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0); /* done, not polled */
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0); /* waits */
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	expect_none(p->a.cq);
	assert_int_equal(query_sq(p).timeout, 0);
	assert_int_equal(query_sq(p).dest_qp_num, 0);
	assert_int_equal(query_sq(p).cap.max_send_wr, END_DEPTH);
	expect_wc(p->b.cq, 4, IBV_WC_SUCCESS); /* the peer's completion */
	connect_to(p->a.qp, p->b.qp->qp_num);
	assert_int_equal(recv_at(&p->b, 5, 0, 8), 0);
	assert_int_equal(send_at(&p->a, 6, 0, 8), 0);
	expect_wc(p->a.cq, 6, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 5, IBV_WC_SUCCESS);
}
