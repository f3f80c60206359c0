#include <errno.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static void connect_uc(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	assert_int_equal(to_init(qp, ALL_ACCESS), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static int set_up(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	end_open(&p->a);
	end_open(&p->b);
	use_qp_of(&p->a, IBV_QPT_UC, NULL);
	use_qp_of(&p->b, IBV_QPT_UC, NULL);
	connect_uc(p->a.qp, p->b.qp->qp_num);
	connect_uc(p->b.qp, p->a.qp->qp_num);
	*state = p;
	return 0;
}

static void expect_sent(struct pair *p, uint64_t wr_id)
{
	expect_wc(p->a.cq, wr_id, IBV_WC_SUCCESS);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_RTS);
}

static void expect_lost(struct pair *p, uint64_t wr_id)
{
	expect_sent(p, wr_id);
	expect_none(p->b.cq);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, pair_teardown);

TEST(send_and_immediate_arrive)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	strcpy((char *)p->a.buf, "hello");
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(recv_at(&p->b, 2, 100, 100), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 6), 0);
	assert_int_equal(send_wr(&p->a,
				 (struct ibv_send_wr){ .wr_id = 4,
						       .opcode = IBV_WR_SEND_WITH_IMM,
						       .imm_data = 77 },
				 sge_of(&p->a, 0, 6)),
			 0);
	assert_int_equal(expect_wc(p->a.cq, 3, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	expect_sent(p, 4);
	wc = expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 6);
	assert_int_equal(wc.src_qp, p->a.qp->qp_num);
	wc = expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 77);
	assert_string_equal((char *)p->b.buf, "hello");
}

TEST(writes_arrive)
{
	struct pair *p = *state;
	uint64_t there = (uintptr_t)p->b.buf + 5000;
	struct ibv_send_wr wr = { .wr_id = 2, .imm_data = 5, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM };

	memset(p->a.buf, 'w', 3000);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 3000, there, p->b.mr->rkey), 0);
	expect_sent(p, 1);
	assert_memory_equal(p->b.buf + 5000, p->a.buf, 3000);
	wr.wr.rdma.remote_addr = there;
	wr.wr.rdma.rkey = p->b.mr->rkey;
	assert_int_equal(recv_at(&p->b, 3, 0, 0), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 10)), 0);
	expect_sent(p, 2);
	assert_int_equal(expect_wc(p->b.cq, 3, IBV_WC_SUCCESS).opcode, IBV_WC_RECV_RDMA_WITH_IMM);
}

TEST(nothing_can_be_read)
{
	struct pair *p = *state;

	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 1, 8, (uintptr_t)p->b.buf, p->b.mr->rkey),
			 EINVAL);
	assert_int_equal(rdma_at(&p->a, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 8, (uintptr_t)p->b.buf,
				 p->b.mr->rkey),
			 EINVAL);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_RTS);
}

TEST(message_without_a_request_is_lost)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM };

	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_lost(p, 1);
	wr.wr.rdma.remote_addr = (uintptr_t)p->b.buf;
	wr.wr.rdma.rkey = p->b.mr->rkey;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 6)), 0);
	expect_lost(p, 2);
	/* the message does not arrive later */
	assert_int_equal(recv_at(&p->b, 3, 0, 100), 0);
	expect_none(p->b.cq);
	assert_int_equal(send_at(&p->a, 4, 0, 7), 0);
	expect_sent(p, 4);
	assert_int_equal(expect_wc(p->b.cq, 3, IBV_WC_SUCCESS).byte_len, 7);
}

TEST(receiver_that_posts_is_waited_for)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_sent(p, 2);
	assert_int_equal(send_at(&p->a, 3, 0, 7), 0);
	expect_none(p->a.cq);
	assert_int_equal(recv_at(&p->b, 4, 0, 100), 0);
	expect_sent(p, 3);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->b.cq, 4, IBV_WC_SUCCESS).byte_len, 7);
}

TEST(receiver_that_has_stopped_is_given_up)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 6), 0);
	expect_sent(p, 2);
	expect_sent(p, 3); /* after a while */
	/* from now on at once */
	assert_int_equal(send_at(&p->a, 4, 0, 6), 0);
	assert_int_equal(ibv_poll_cq(p->a.cq, 1, &wc), 1);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(&p->b, 5, 0, 100), 0);
	expect_none(p->b.cq);
	/* until it posts again */
	assert_int_equal(send_at(&p->a, 6, 0, 6), 0);
	expect_wc(p->b.cq, 5, IBV_WC_SUCCESS);
	expect_sent(p, 6);
}

TEST(message_that_is_too_long_leaves_the_request)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 5), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_lost(p, 2);
	assert_int_equal(send_at(&p->a, 3, 0, 5), 0);
	expect_sent(p, 3);
	assert_int_equal(expect_wc(p->b.cq, 1, IBV_WC_SUCCESS).byte_len, 5);
}

TEST(write_that_is_not_allowed_is_lost)
{
	struct pair *p = *state;

	memset(p->a.buf, 1, 8);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, p->b.mr->rkey + 1), 0);
	expect_lost(p, 1);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8,
				 (uintptr_t)p->b.buf + END_BYTES - 7, p->b.mr->rkey),
			 0);
	expect_lost(p, 2);
	assert_int_equal(p->b.buf[0], 0);
}

TEST(bad_buffer_fails_the_receiver_alone)
{
	struct pair *p = *state;
	struct ibv_sge bad = sge_of(&p->b, 0, 100);

	bad.lkey++;
	assert_int_equal(recv_sge(&p->b, 1, bad), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 6), 0);
	expect_sent(p, 3);
	expect_wc(p->b.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->b.cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
	assert_int_equal(send_at(&p->a, 4, 0, 6), 0);
	expect_sent(p, 4);
}

TEST(own_error_stops_the_send_queue_alone)
{
	struct pair *p = *state;
	struct ibv_sge bad = sge_of(&p->a, 0, 6);
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };

	bad.lkey++;
	assert_int_equal(recv_at(&p->a, 9, 0, 100), 0);
	assert_int_equal(recv_at(&p->b, 8, 0, 100), 0);
	assert_int_equal(send_wr(&p->a, wr, bad), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_SQE);
	/* it receives */
	assert_int_equal(send_at(&p->b, 3, 0, 6), 0);
	expect_wc(p->b.cq, 3, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 9, IBV_WC_SUCCESS);
	/* the queue pair returns to RTS */
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	assert_int_equal(send_at(&p->a, 4, 0, 6), 0);
	expect_sent(p, 4);
	expect_wc(p->b.cq, 8, IBV_WC_SUCCESS);
}

TEST(message_to_nobody_is_lost)
{
	struct pair *p = *state;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_sent(p, 1);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_sent(p, 2);
}

TEST(reliable_peer_does_not_answer)
{
	struct pair *p = *state;

	use_qp_of(&p->b, IBV_QPT_RC, NULL);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_uc(p->a.qp, p->b.qp->qp_num);
	assert_int_equal(recv_at(&p->b, 1, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_lost(p, 2);
	assert_int_equal(send_at(&p->b, 3, 0, 6), 0);
	expect_wc(p->b.cq, 3, IBV_WC_RETRY_EXC_ERR);
}

TEST(too_long_uses_up_a_shared_request)
{
	struct pair *p = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(p->b.pd, &attr);
	struct ibv_sge sge = sge_of(&p->b, 0, 5);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	assert_non_null(srq);
	use_qp_of(&p->b, IBV_QPT_UC, srq);
	connect_uc(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_uc(p->a.qp, p->b.qp->qp_num);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_sent(p, 2);
	expect_wc(p->b.cq, 1, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
}
