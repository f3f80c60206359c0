#include "tests/shim/soft/pair.h"
#include "tests/test.h"

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(send_arrives)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	strcpy((char *)p->a.buf, "hello");
	assert_int_equal(recv_at(&p->b, 7, 0, 100), 0);
	assert_int_equal(send_at(&p->a, 8, 0, 6), 0);
	wc = expect_wc(p->a.cq, 8, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	wc = expect_wc(p->b.cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 6);
	assert_int_equal(wc.qp_num, p->b.qp->qp_num);
	assert_int_equal(wc.src_qp, p->a.qp->qp_num);
	assert_int_equal(wc.wc_flags, 0);
	assert_string_equal((char *)p->b.buf, "hello");
}

TEST(immediate_arrives)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	assert_int_equal(recv_at(&p->b, 1, 0, 0), 0);
	assert_int_equal(send_wr(&p->a,
				 (struct ibv_send_wr){ .opcode = IBV_WR_SEND_WITH_IMM,
						       .imm_data = 0x12345678 },
				 sge_of(&p->a, 0, 0)),
			 0);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	wc = expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x12345678);
	assert_int_equal(wc.byte_len, 0);
}

TEST(scatter_follows_the_lists)
{
	struct pair *p = *state;
	struct ibv_sge from[3] = { sge_of(&p->a, 0, 3), sge_of(&p->a, 10, 0),
				   sge_of(&p->a, 20, 5) };
	struct ibv_sge to[2] = { sge_of(&p->b, 0, 2), sge_of(&p->b, 100, 50) };
	struct ibv_send_wr wr = { .sg_list = from, .num_sge = 3, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { .sg_list = to, .num_sge = 2 }, *rbad;

	memcpy(p->a.buf, "abc", 3);
	memcpy(p->a.buf + 20, "defgh", 5);
	assert_int_equal(ibv_post_recv(p->b.qp, &rwr, &rbad), 0);
	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), 0);
	assert_int_equal(expect_wc(p->b.cq, 0, IBV_WC_SUCCESS).byte_len, 8);
	assert_memory_equal(p->b.buf, "ab", 2);
	assert_memory_equal(p->b.buf + 100, "cdefgh", 6);
	expect_none(p->a.cq); /* it was posted without a completion */
}

TEST(inline_data_is_free_at_once)
{
	struct pair *p = *state;
	char data[64] = "inline";
	struct ibv_sge sge = { (uintptr_t)data, 64, 0 };

	assert_int_equal(send_wr(&p->a,
				 (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
						       .send_flags = IBV_SEND_INLINE },
				 sge),
			 0);
	strcpy(data, "spoilt");
	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)p->b.buf, "inline");
	sge.length = 65;
	assert_int_equal(send_wr(&p->a,
				 (struct ibv_send_wr){ .opcode = IBV_WR_SEND,
						       .send_flags = IBV_SEND_INLINE },
				 sge),
			 EINVAL);
}

TEST(write_and_read_move_bytes)
{
	struct pair *p = *state;
	uint64_t there = (uintptr_t)p->b.buf + 5000;

	memset(p->a.buf, 'w', 3000);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 3000, there, p->b.mr->rkey), 0);
	assert_int_equal(expect_wc(p->a.cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
	assert_memory_equal(p->b.buf + 5000, p->a.buf, 3000);
	memset(p->b.buf + 5000, 'r', 3000);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 2, 3000, there, p->b.mr->rkey), 0);
	assert_int_equal(expect_wc(p->a.cq, 2, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_READ);
	assert_int_equal(p->a.buf[2999], 'r');
	expect_none(p->b.cq);
}

TEST(write_with_immediate_takes_a_receive)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = 99 };
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)p->b.buf;
	wr.wr.rdma.rkey = p->b.mr->rkey;
	memset(p->a.buf, 'i', 10);
	assert_int_equal(recv_at(&p->b, 3, 100, 1), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 10)), 0);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	wc = expect_wc(p->b.cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, 10);
	assert_int_equal(wc.imm_data, 99);
	assert_int_equal(p->b.buf[9], 'i');
}

TEST(atomics_change_and_tell)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint64_t *there = (uint64_t *)p->b.buf, *old = (uint64_t *)p->a.buf;

	*there = 40;
	wr.wr.atomic.remote_addr = (uintptr_t)there;
	wr.wr.atomic.rkey = p->b.mr->rkey;
	wr.wr.atomic.compare_add = 2;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 8)), 0);
	assert_int_equal(expect_wc(p->a.cq, 0, IBV_WC_SUCCESS).opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(*there, 42);
	assert_int_equal(*old, 40);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 42;
	wr.wr.atomic.swap = 5;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 8)), 0);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(*there, 5);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 8)), 0);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(*there, 5);
	assert_int_equal(*old, 5);
}

TEST(full_send_queue_is_enomem)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_of(&p->a, 0, 1);
	struct ibv_send_wr wr[END_DEPTH + 1] = { 0 }, *bad = NULL;
	int i;

	for (i = 0; i <= END_DEPTH; i++)
		wr[i] = (struct ibv_send_wr){ .sg_list = &sge,
					      .num_sge = 1,
					      .opcode = IBV_WR_RDMA_WRITE,
					      .next = &wr[i + 1],
					      .wr.rdma = { (uintptr_t)p->b.buf, p->b.mr->rkey } };
	wr[END_DEPTH].next = NULL;
	wr[END_DEPTH - 1].send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_post_send(p->a.qp, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[END_DEPTH]);
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS); /* gives all slots back */
	assert_int_equal(ibv_post_send(p->a.qp, &wr[1], &bad), 0);
}

TEST(full_receive_queue_is_enomem)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < END_DEPTH; i++)
		assert_int_equal(recv_at(&p->b, i, 0, 1), 0);
	assert_int_equal(recv_at(&p->b, i, 0, 1), ENOMEM);
	assert_int_equal(send_at(&p->a, 0, 0, 1), 0);
	assert_int_equal(recv_at(&p->b, i, 0, 1), ENOMEM);
	expect_wc(p->b.cq, 0, IBV_WC_SUCCESS); /* not before it is polled */
	assert_int_equal(recv_at(&p->b, i, 0, 1), 0);
}

TEST(malformed_requests_are_refused)
{
	struct pair *p = *state;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };
	struct ibv_recv_wr *rbad, rwr = { .num_sge = 5 };
	struct ibv_sge sge[5] = { { 0 } };

	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
	wr.opcode = IBV_WR_SEND;
	wr.sg_list = rwr.sg_list = sge;
	wr.num_sge = 5;
	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), EINVAL);
	assert_int_equal(ibv_post_recv(p->a.qp, &rwr, &rbad), EINVAL);
	wr.num_sge = -1;
	assert_int_equal(ibv_post_send(p->a.qp, &wr, &bad), EINVAL);
}

TEST(data_is_read_when_it_is_sent)
{
	struct pair *p = *state;

	strcpy((char *)p->a.buf, "early");
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	strcpy((char *)p->a.buf, "later");
	assert_int_equal(recv_at(&p->b, 2, 0, 6), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_string_equal((char *)p->b.buf, "later");
}

TEST(drained_queue_waits_for_rts)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 2, 0, 6), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_SQD), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_none(p->a.cq);
	expect_none(p->b.cq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RTS), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

TEST(queue_pair_talks_to_itself)
{
	struct pair *p = *state;
	struct ibv_qp *old = p->a.qp;

	p->a.qp = make_qp(&p->a, NULL);
	connect_to(p->a.qp, p->a.qp->qp_num);
	assert_int_equal(recv_at(&p->a, 1, 100, 10), 0);
	memcpy(p->a.buf, "self", 5);
	assert_int_equal(send_at(&p->a, 2, 0, 5), 0);
	poll_one(p->a.cq);
	poll_one(p->a.cq);
	assert_string_equal((char *)p->a.buf + 100, "self");
	assert_int_equal(ibv_destroy_qp(old), 0);
}

TEST(reset_purges_completions)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 2, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	expect_none(p->a.cq);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(&p->a, 1, 0, 1), EINVAL);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(recv_at(&p->b, 2, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

/* A peer's cached data on our queue must not outlive it. */
TEST(peer_may_reset_alone)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(recv_at(&p->b, i, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	expect_none(p->b.cq); /* nothing is posted */
	assert_int_equal(recv_at(&p->b, 7, 0, 6), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 7, IBV_WC_SUCCESS);
}

TEST(shared_queue_serves_all)
{
	struct pair *p = *state;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(p->b.pd, &init);
	struct ibv_sge sge = sge_of(&p->b, 0, 10);
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;
	int i;

	assert_non_null(srq);
	ibv_destroy_qp(p->b.qp);
	p->b.qp = make_qp(&p->b, srq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	assert_int_equal(recv_at(&p->b, 0, 0, 1), EINVAL);
	for (i = 0; i < 5; i++) {
		assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
		assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
		expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
		assert_int_equal(expect_wc(p->b.cq, 5, IBV_WC_SUCCESS).byte_len, 6);
	}
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

TEST(extended_poll_reads_all_fields)
{
	struct pair *p = *state;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(p->b.context, &attr);
	struct ibv_poll_cq_attr none = { 0 };
	struct ibv_cq *old = p->b.cq;

	assert_non_null(cq);
	ibv_destroy_qp(p->b.qp);
	p->b.cq = ibv_cq_ex_to_cq(cq);
	p->b.qp = make_qp(&p->b, NULL);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	assert_int_equal(ibv_start_poll(cq, &none), ENOENT);
	assert_int_equal(recv_at(&p->b, 5, 0, 6), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 6), 0);
	assert_int_equal(ibv_start_poll(cq, &none), 0);
	assert_int_equal(cq->wr_id, 5);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cq), 6);
	assert_int_equal(ibv_wc_read_qp_num(cq), p->b.qp->qp_num);
	assert_true(ibv_wc_read_completion_ts(cq) != 0);
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0); /* must not hang */
	p->b.mr = NULL;
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	ibv_destroy_qp(p->b.qp);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(p->b.cq), 0);
	p->b.cq = old;
}

TEST(resize_keeps_completions)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 6), 0);
		assert_int_equal(send_at(&p->a, i, 0, 6), 0);
	}
	assert_int_equal(ibv_resize_cq(p->b.cq, 2), EINVAL);
	assert_int_equal(ibv_resize_cq(p->b.cq, 1000), 0);
	assert_int_equal(p->b.cq->cqe, 1000);
	assert_int_equal(recv_at(&p->b, i, 0, 6), 0);
	assert_int_equal(send_at(&p->a, i, 0, 6), 0);
	for (i = 0; i < 4; i++)
		expect_wc(p->b.cq, i, IBV_WC_SUCCESS);
}
