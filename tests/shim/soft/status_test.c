#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* Both ends fail: each flushes its requests, and accepts no more. */
static void expect_both_failed(struct pair *p)
{
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
	assert_int_equal(send_at(&p->a, 50, 0, 1), 0);
	expect_wc(p->a.cq, 50, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(recv_at(&p->b, 51, 0, 1), 0);
	expect_wc(p->b.cq, 51, IBV_WC_WR_FLUSH_ERR);
}

static struct ibv_async_event expect_event(struct end *e, int type)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	assert_int_equal(event.event_type, type);
	ibv_ack_async_event(&event);
	return event;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(send_too_long)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 5), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 5), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 6), 0);
	expect_wc(p->a.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(p->b.cq, 1, IBV_WC_LOC_LEN_ERR);
	expect_wc(p->b.cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_both_failed(p);
}

TEST(send_from_unknown_key)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_of(&p->a, 0, 5);

	sge.lkey = p->a.mr->rkey; /* they always differ */
	assert_int_equal(recv_at(&p->a, 9, 0, 5), 0);
	assert_int_equal(
		send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND }, sge), 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_wc(p->a.cq, 9, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
}

TEST(send_from_beyond_its_region)
{
	struct pair *p = *state;

	assert_int_equal(send_at(&p->a, 1, END_BYTES - 4, 5), 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
}

TEST(send_from_another_domain)
{
	struct pair *p = *state;
	struct ibv_pd *pd = ibv_alloc_pd(p->a.context);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->a.buf, 64, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)p->a.buf, 5, mr->lkey };

	assert_int_equal(
		send_wr(&p->a, (struct ibv_send_wr){ .wr_id = 1, .opcode = IBV_WR_SEND }, sge), 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

TEST(read_into_what_is_not_writable)
{
	struct pair *p = *state;
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, p->a.buf, 64, 0);
	struct ibv_sge sge = { (uintptr_t)p->a.buf, 5, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ };

	wr.wr.rdma.remote_addr = (uintptr_t)p->b.buf;
	wr.wr.rdma.rkey = p->b.mr->rkey;
	assert_int_equal(send_wr(&p->a, wr, sge), 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(receive_into_unknown_key)
{
	struct pair *p = *state;
	struct ibv_sge sge = sge_of(&p->b, 0, 5);

	sge.lkey ^= 0x10;
	assert_int_equal(recv_sge(&p->b, 2, sge), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_OP_ERR);
	expect_wc(p->b.cq, 2, IBV_WC_LOC_PROT_ERR);
	expect_both_failed(p);
}

TEST(receive_beyond_its_region)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 2, END_BYTES - 4, 8), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_OP_ERR);
	expect_wc(p->b.cq, 2, IBV_WC_LOC_PROT_ERR);
}

/* Only the part that a message fills is checked. */
TEST(message_ends_before_its_buffer_leaves_the_region)
{
	struct pair *p = *state;
	struct ibv_sge sge[2] = { sge_of(&p->b, END_BYTES - 4, 4), sge_of(&p->b, 0, 8) };
	struct ibv_recv_wr wr = { .wr_id = 4, .sg_list = sge, .num_sge = 2 }, *bad;

	memcpy(p->a.buf, "abcd", 4);
	assert_int_equal(recv_at(&p->b, 2, END_BYTES - 4, 8), 0);
	sge[1].lkey ^= 0x10;
	assert_int_equal(ibv_post_recv(p->b.qp, &wr, &bad), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 4), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf + END_BYTES - 4, "abcd", 4);
	assert_int_equal(send_at(&p->a, 3, 0, 4), 0);
	expect_wc(p->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 4, IBV_WC_SUCCESS);
	/* nothing of this one */
	sge[1].length = 8;
	assert_int_equal(recv_sge(&p->b, 6, sge[1]), 0);
	assert_int_equal(send_at(&p->a, 5, 0, 0), 0);
	expect_wc(p->a.cq, 5, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 6, IBV_WC_SUCCESS);
}

TEST(write_with_wrong_key)
{
	struct pair *p = *state;
	struct ibv_async_event event;

	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, (uintptr_t)p->b.buf, p->b.mr->lkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	event = expect_event(&p->b, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, p->b.qp);
	expect_both_failed(p);
}

TEST(write_with_key_of_the_dead)
{
	struct pair *p = *state;
	uint32_t key = p->b.mr->rkey;

	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = NULL;
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, (uintptr_t)p->b.buf, key), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
}

TEST(write_beyond_the_region)
{
	struct pair *p = *state;

	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, (uintptr_t)p->b.buf - 1, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
}

TEST(read_where_the_region_forbids)
{
	struct pair *p = *state;
	struct ibv_mr *mr =
		ibv_reg_mr(p->b.pd, p->b.buf, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 1, 5, (uintptr_t)p->b.buf, mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void reconnect_pair(struct pair *p, int access_of_b)
{
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	assert_int_equal(to_init(p->b.qp, access_of_b), 0);
	assert_int_equal(to_rtr(p->b.qp, p->a.qp->qp_num), 0);
	assert_int_equal(to_rts(p->b.qp), 0);
}

TEST(read_where_the_queue_pair_forbids)
{
	struct pair *p = *state;

	reconnect_pair(p, IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 1, 5, (uintptr_t)p->b.buf, p->b.mr->rkey),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_INV_REQ_ERR);
	expect_event(&p->b, IBV_EVENT_QP_REQ_ERR);
	expect_both_failed(p);
}

TEST(write_where_the_queue_pair_forbids)
{
	struct pair *p = *state;

	reconnect_pair(p, IBV_ACCESS_REMOTE_READ);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_INV_REQ_ERR);
}

TEST(atomic_off_its_alignment)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	wr.wr.atomic.remote_addr = (uintptr_t)p->b.buf + 4;
	wr.wr.atomic.rkey = p->b.mr->rkey;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 8)), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_INV_REQ_ERR);
}

TEST(atomic_of_wrong_length)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };

	wr.wr.atomic.remote_addr = (uintptr_t)p->b.buf;
	wr.wr.atomic.rkey = p->b.mr->rkey;
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_LEN_ERR);
}

/* The 8 bytes are the first of the elements; the rest may be outside the region. */
TEST(atomic_with_longer_elements)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD };
	uint64_t *to = (uint64_t *)p->b.buf;

	*to = 41;
	wr.wr.atomic.remote_addr = (uintptr_t)to;
	wr.wr.atomic.rkey = p->b.mr->rkey;
	wr.wr.atomic.compare_add = 1;
	memset(p->a.buf, 0x55, END_BYTES);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, END_BYTES - 16, 4096)), 0);
	assert_int_equal(expect_wc(p->a.cq, 1, IBV_WC_SUCCESS).byte_len, 8);
	assert_int_equal(*(uint64_t *)(p->a.buf + END_BYTES - 16), 41);
	assert_int_equal(p->a.buf[END_BYTES - 8], 0x55);
	assert_int_equal(*to, 42);
}

TEST(read_without_responder_resources)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 8 };

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, 0), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 1, 5, (uintptr_t)p->b.buf, p->b.mr->rkey),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_QP_OP_ERR);
}

TEST(receiver_that_is_never_ready)
{
	struct pair *p = *state;

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, 0), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	assert_int_equal(to_rts_with(p->a.qp, 2), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 1), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 1), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_wc(p->a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
}

TEST(nobody_at_the_other_end)
{
	struct pair *p = *state;

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(send_at(&p->a, 1, 0, 1), 0);
	expect_none(p->a.cq); /* it takes its time */
	expect_wc(p->a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
}

TEST(peer_connected_to_another)
{
	struct pair *p = *state;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->b.qp, p->b.qp->qp_num);
	assert_int_equal(recv_at(&p->b, 9, 0, 1), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 1), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_none(p->b.cq);
}

TEST(address_of_nobody)
{
	struct pair *p = *state;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = p->b.qp->qp_num,
		.ah_attr = { .dlid = 77, .port_num = 1 },
	};

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, 0), 0);
	assert_int_equal(ibv_modify_qp(p->a.qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	assert_int_equal(to_rts(p->a.qp), 0);
	assert_int_equal(recv_at(&p->b, 9, 0, 1), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 1), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RETRY_EXC_ERR);
}

TEST(error_flushes_both_queues)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->a, 1, 0, 1), 0);
	assert_int_equal(recv_at(&p->a, 2, 0, 1), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_SQD), 0);
	assert_int_equal(send_at(&p->a, 3, 0, 1), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_ERR), 0);
	expect_wc(p->a.cq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.cq, 3, IBV_WC_WR_FLUSH_ERR);
	expect_none(p->a.cq);
}

/* A request that waits is flushed when the peer fails it. */
TEST(failing_peer_flushes_waiting_sends)
{
	struct pair *p = *state;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_SQD), 0);
	assert_int_equal(send_at(&p->b, 4, 0, 1), 0);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, 0, 1), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_ERR), 0);
	expect_wc(p->b.cq, 4, IBV_WC_WR_FLUSH_ERR);
}

TEST(overrun_queue_is_an_event)
{
	struct pair *p = *state;
	struct ibv_cq *old = p->b.cq, *tiny = ibv_create_cq(p->b.context, 2, NULL, NULL, 0);
	struct ibv_async_event event;
	int i;

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.cq = tiny;
	p->b.qp = make_qp(&p->b, NULL);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	for (i = 0; i < 3; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 1), 0);
		assert_int_equal(send_at(&p->a, i, 0, 1), 0);
	}
	expect_wc(p->a.cq, 0, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 2, IBV_WC_REM_OP_ERR);
	event = expect_event(&p->b, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, tiny);
	expect_event(&p->b, IBV_EVENT_QP_FATAL);
	assert_int_equal(ibv_destroy_cq(tiny), EBUSY);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(tiny), 0);
	p->b.cq = old;
}

TEST(strict_device_spoils_what_is_not_valid)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	setenv("VERBATIM_SOFT_STRICT", "1", 1);
	assert_int_equal(recv_at(&p->b, 1, 0, 5), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_ERR), 0);
	wc = expect_wc(p->b.cq, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc.qp_num, p->b.qp->qp_num);
	assert_int_not_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 0xdeadbeef);
	unsetenv("VERBATIM_SOFT_STRICT");
}
