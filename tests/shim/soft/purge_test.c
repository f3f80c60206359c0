#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static void make_messages(struct pair *p, int num)
{
	int i;

	for (i = 0; i < num; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 6), 0);
		assert_int_equal(send_at(&p->a, i, 0, 6), 0);
	}
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(purged_completions_take_no_room)
{
	struct pair *p = *state;

	make_messages(p, 3);
	assert_int_equal(ibv_resize_cq(p->a.cq, 2), EINVAL);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(ibv_resize_cq(p->a.cq, 1), 0);
	expect_none(p->a.cq);
}

/* Completions of two queue pairs alternate in one queue; one queue pair is destroyed. */
TEST(completions_of_others_stay_in_order)
{
	struct pair *p = *state;
	struct ibv_qp *old = p->a.qp, *self = make_qp(&p->a, NULL);
	int i;

	connect_to(self, self->qp_num);
	for (i = 0; i < 4; i++) {
		make_messages(p, 1);
		p->a.qp = self;
		assert_int_equal(recv_at(&p->a, 10 + i, 0, 6), 0);
		assert_int_equal(send_at(&p->a, 20 + i, 0, 6), 0);
		p->a.qp = old;
	}
	assert_int_equal(ibv_destroy_qp(old), 0);
	p->a.qp = self;
	for (i = 0; i < 4; i++) {
		expect_wc(p->a.cq, 10 + i, IBV_WC_SUCCESS);
		expect_wc(p->a.cq, 20 + i, IBV_WC_SUCCESS);
	}
	expect_none(p->a.cq);
}

TEST(both_queues_of_a_queue_pair_are_purged)
{
	struct pair *p = *state;
	struct ibv_cq *own = ibv_create_cq(p->a.context, END_CQE, NULL, NULL, 0);
	struct ibv_qp_init_attr attr = { .send_cq = p->a.cq,
					 .recv_cq = own,
					 .qp_type = IBV_QPT_RC,
					 .cap = { END_DEPTH, END_DEPTH, 4, 4, 64 } };
	struct ibv_qp *old = p->a.qp;

	p->a.qp = ibv_create_qp(p->a.pd, &attr);
	assert_non_null(p->a.qp);
	connect_to(p->a.qp, p->a.qp->qp_num);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(recv_at(&p->a, i, 0, 6), 0);
		assert_int_equal(send_at(&p->a, i, 0, 6), 0);
	}
	expect_wc(own, 0, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	expect_none(own);
	expect_none(p->a.cq);
	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	assert_int_equal(ibv_destroy_cq(own), 0);
	p->a.qp = old;
}

TEST(completions_are_left_where_that_is_asked_for)
{
	struct pair *p = *state;
	uint32_t number = p->a.qp->qp_num;

	make_messages(p, 1);
	setenv("VERBATIM_SOFT_LEAVE", "1", 1);
	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	unsetenv("VERBATIM_SOFT_LEAVE");
	p->a.qp = make_qp(&p->a, NULL);
	assert_int_equal(p->a.qp->qp_num, number);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	expect_none(p->a.cq);
}

static struct ibv_srq *make_shared(struct pair *p, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = { .attr = { max_wr, 1, 0 } };
	struct ibv_srq *srq = ibv_create_srq(p->b.pd, &init);

	assert_non_null(srq);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = make_qp(&p->b, srq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	return srq;
}

static int post_shared(struct pair *p, struct ibv_srq *srq)
{
	struct ibv_sge sge = sge_of(&p->b, 0, 10);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

/* The request was returned when the poll began to read the completion. */
TEST(completion_being_read_is_not_purged_again)
{
	struct pair *p = *state;
	struct ibv_cq_init_attr_ex attr = { .cqe = 8 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(p->b.context, &attr);
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq *old = p->b.cq;
	struct ibv_srq *srq;

	assert_non_null(cq);
	p->b.cq = ibv_cq_ex_to_cq(cq);
	srq = make_shared(p, 2);
	assert_int_equal(post_shared(p, srq), 0);
	assert_int_equal(post_shared(p, srq), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	assert_int_equal(ibv_start_poll(cq, &none), 0);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	ibv_end_poll(cq);
	assert_int_equal(post_shared(p, srq), 0);
	assert_int_equal(post_shared(p, srq), ENOMEM);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(p->b.cq), 0);
	p->b.cq = old;
}

/* No verb is called for it: a write without rights fails its queue pair. */
TEST(drained_queue_is_flushed_when_its_peer_fails_it)
{
	struct pair *p = *state;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_SQD), 0);
	assert_int_equal(send_at(&p->b, 7, 0, 6), 0);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, p->b.mr->lkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p->b.cq, 7, IBV_WC_WR_FLUSH_ERR);
}
