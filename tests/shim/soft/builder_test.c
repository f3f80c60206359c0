#include <errno.h>
#include <pthread.h>

#include "tests/shim/soft/datagrams.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

#define ALL_OPS                                                                                 \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
	 IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |                              \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp *make_ex(struct end *e, enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = type,
		.cap = { END_DEPTH, END_DEPTH, 4, 4, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = e->pd,
		.send_ops_flags = ops,
	};

	return ibv_create_qp_ex(e->context, &attr);
}

static struct ibv_qp_ex *ex_of(struct end *e)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(e->qp);

	assert_non_null(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	return ex;
}

static int set_up(void **state)
{
	struct pair *p;

	pair_setup(state);
	p = *state;
	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	p->a.qp = make_ex(&p->a, IBV_QPT_RC, ALL_OPS);
	assert_non_null(p->a.qp);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	return 0;
}

static uint64_t far_address(struct pair *p)
{
	return (uintptr_t)p->b.buf;
}

static uint64_t near_address(struct pair *p)
{
	return (uintptr_t)p->a.buf;
}

static void send_from(struct pair *p, struct ibv_qp_ex *ex, uint64_t wr_id, uint32_t length)
{
	ex->wr_id = wr_id;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), length);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, pair_teardown);

TEST(send_arrives)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	struct ibv_wc wc;

	memcpy(p->a.buf, "hello", 5);
	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	ibv_wr_start(ex);
	send_from(p, ex, 1, 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	wc = expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 5);
	assert_memory_equal(p->b.buf, "hello", 5);
}

TEST(immediate_data_arrives)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	struct ibv_wc wc;

	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	assert_int_equal(recv_at(&p->b, 3, 0, 64), 0);
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 0x11223344);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 5);
	ibv_wr_rdma_write_imm(ex, p->b.mr->rkey, far_address(p) + 100, 0x55667788);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 6);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.imm_data, 0x11223344);
	wc = expect_wc(p->b.cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.imm_data, 0x55667788);
	assert_int_equal(wc.byte_len, 6);
}

TEST(write_and_read_move_bytes)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	memcpy(p->a.buf, "there", 5);
	memcpy(p->b.buf + 200, "and back", 8);
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 5);
	ex->wr_id = 2;
	ibv_wr_rdma_read(ex, p->b.mr->rkey, far_address(p) + 200);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p) + 300, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(expect_wc(p->a.cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(expect_wc(p->a.cq, 2, IBV_WC_SUCCESS).opcode, IBV_WC_RDMA_READ);
	assert_memory_equal(p->b.buf, "there", 5);
	assert_memory_equal(p->a.buf + 300, "and back", 8);
}

TEST(atomics_change_the_far_word)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	uint64_t *word = (uint64_t *)p->b.buf, *old = (uint64_t *)p->a.buf;

	*word = 40;
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ibv_wr_atomic_fetch_add(ex, p->b.mr->rkey, far_address(p), 2);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 8);
	ex->wr_id = 2;
	ibv_wr_atomic_cmp_swp(ex, p->b.mr->rkey, far_address(p), 42, 7);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p) + 8, 8);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(expect_wc(p->a.cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(expect_wc(p->a.cq, 2, IBV_WC_SUCCESS).opcode, IBV_WC_COMP_SWAP);
	assert_int_equal(old[0], 40);
	assert_int_equal(old[1], 42);
	assert_int_equal(*word, 7);
}

TEST(lists_are_concatenated)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	struct ibv_sge sge[] = { sge_of(&p->a, 8, 3), sge_of(&p->a, 0, 4) };
	struct ibv_data_buf buf[] = { { "xy", 2 }, { NULL, 0 }, { "z", 1 } };

	memcpy(p->a.buf, "data....abc", 11);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge_list(ex, 2, sge);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p) + 7);
	ibv_wr_set_inline_data_list(ex, 3, buf);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_memory_equal(p->b.buf, "abcdataxyz", 11);
}

TEST(inline_data_is_copied_by_its_setter)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	char data[] = "before";

	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_inline_data(ex, data, 6);
	memcpy(data, "after!", 6);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_memory_equal(p->b.buf, "before", 6);
}

/* Some programs leave the flag of the classic request in place. */
TEST(inline_flag_without_inline_data_means_nothing)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	memcpy(p->a.buf, "bytes", 5);
	ex->wr_flags |= IBV_SEND_INLINE;
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_memory_equal(p->b.buf, "bytes", 5);
}

TEST(requests_need_no_data)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	ex->wr_id = 1;
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->b.cq, 2, IBV_WC_SUCCESS).byte_len, 0);
}

TEST(unsignaled_requests_are_silent)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	ex->wr_flags = 0;
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 5);
	ex->wr_id = 2;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_none(p->a.cq);
}

TEST(nothing_happens_before_complete)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	memcpy(p->a.buf, "early", 5);
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 5);
	expect_none(p->a.cq);
	assert_int_equal(p->b.buf[0], 0);
	memcpy(p->a.buf, "later", 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_memory_equal(p->b.buf, "later", 5);
}

TEST(abort_drops_all)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	int i;

	for (i = 0; i < 3 * END_DEPTH; i++) {
		ibv_wr_start(ex);
		send_from(p, ex, 1, 5);
		ibv_wr_abort(ex);
	}
	expect_none(p->a.cq);
	send_arrives(state);
}

TEST(one_error_drops_the_whole_batch)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	uint8_t much[65] = { 0 };

	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	assert_int_equal(recv_at(&p->b, 3, 0, 64), 0);
	ibv_wr_start(ex);
	send_from(p, ex, 1, 5);
	ibv_wr_send(ex);
	ibv_wr_set_inline_data(ex, much, sizeof(much));
	send_from(p, ex, 3, 5);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	expect_none(p->a.cq);
	expect_none(p->b.cq);
	/* the next batch is not affected */
	ibv_wr_start(ex);
	send_from(p, ex, 4, 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_wc(p->a.cq, 4, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
}

TEST(a_full_queue_is_reported_by_complete)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	int i;

	ibv_wr_start(ex);
	for (i = 0; i < END_DEPTH + 1; i++) {
		ex->wr_id = i;
		ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
		ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 1);
	}
	assert_int_equal(ibv_wr_complete(ex), ENOMEM);
	expect_none(p->a.cq);
	ibv_wr_start(ex);
	for (i = 0; i < END_DEPTH; i++) {
		ex->wr_id = i;
		ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
		ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 1);
	}
	assert_int_equal(ibv_wr_complete(ex), 0);
	for (i = 0; i < END_DEPTH; i++)
		expect_wc(p->a.cq, i, IBV_WC_SUCCESS);
}

TEST(too_many_sges)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	struct ibv_sge sge[5] = { { 0 } };

	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 5, sge);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

TEST(inline_data_for_a_read)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	char data[8] = "";

	ibv_wr_start(ex);
	ibv_wr_rdma_read(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_inline_data(ex, data, 8);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

TEST(setter_without_request)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 1);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

TEST(setter_called_twice)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	ibv_wr_start(ex);
	send_from(p, ex, 1, 5);
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 1);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

TEST(state_that_cannot_send)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, ALL_ACCESS), 0);
	ibv_wr_start(ex);
	send_from(p, ex, 1, 5);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

TEST(state_of_error_flushes)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	assert_int_equal(to_state(p->a.qp, IBV_QPS_ERR), 0);
	ibv_wr_start(ex);
	send_from(p, ex, 1, 5);
	send_from(p, ex, 2, 5);
	assert_int_equal(ibv_wr_complete(ex), 0);
	expect_wc(p->a.cq, 1, IBV_WC_WR_FLUSH_ERR);
	expect_wc(p->a.cq, 2, IBV_WC_WR_FLUSH_ERR);
}

TEST(reset_drops_what_was_begun)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	ibv_wr_start(ex);
	send_from(p, ex, 1, 5);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	expect_none(p->a.cq);
}

/* A thread that builds a batch may call any verb, also one that takes locks. */
TEST(other_verbs_within_a_batch)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);
	struct ibv_mr *mr;

	ibv_wr_start(ex);
	mr = ibv_reg_mr(p->a.pd, p->a.buf, 64, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_RTS);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 5, far_address(p), p->b.mr->rkey),
			 EINVAL);
	ibv_wr_rdma_write(ex, p->b.mr->rkey, far_address(p));
	ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
}

TEST(start_within_a_batch)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ex_of(&p->a);

	ibv_wr_start(ex);
	ibv_wr_start(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(ibv_wr_complete(ex), EINVAL); /* it has ended */
	send_arrives(state);
}

enum { THREADS = 4, BATCHES = 500, BATCH = 4 };

static void *build_batches(void *arg)
{
	struct pair *p = arg;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p->a.qp);
	int i, n;

	for (i = 0; i < BATCHES; i++) {
		ibv_wr_start(ex);
		ex->wr_flags = 0;
		for (n = 0; n < BATCH; n++) {
			ex->wr_id = i * BATCH + n;
			if (n == BATCH - 1)
				ex->wr_flags = IBV_SEND_SIGNALED;
			ibv_wr_atomic_fetch_add(ex, p->b.mr->rkey, far_address(p), 1);
			ibv_wr_set_sge(ex, p->a.mr->lkey, near_address(p), 8);
		}
		if (ibv_wr_complete(ex) == 0)
			poll_one(p->a.cq);
		else
			i--;
	}
	return NULL;
}

TEST(batches_exclude_each_other)
{
	struct pair *p = *state;
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, build_batches, p);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(*(uint64_t *)p->b.buf, THREADS * BATCHES * BATCH);
	expect_none(p->a.cq);
}

TEST(only_what_was_asked_for_is_there)
{
	struct pair *p = *state;
	struct ibv_qp *qp = make_ex(&p->a, IBV_QPT_RC, IBV_QP_EX_WITH_SEND);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	assert_non_null(ex->wr_send);
	assert_non_null(ex->wr_set_sge);
	assert_null(ex->wr_send_imm);
	assert_null(ex->wr_rdma_write);
	assert_null(ex->wr_set_ud_addr);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

TEST(classic_queue_pair_has_no_builders)
{
	struct pair *p = *state;

	assert_null(ibv_qp_to_qp_ex(p->b.qp));
}

TEST(operations_that_a_type_lacks)
{
	struct pair *p = *state;

	errno = 0;
	assert_null(make_ex(&p->a, IBV_QPT_RC, IBV_QP_EX_WITH_TSO));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_ex(&p->a, IBV_QPT_RC, 1ull << 40));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_ex(&p->a, IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_ex(&p->a, IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE));
	assert_int_equal(errno, EOPNOTSUPP);
}

TEST(datagram_needs_its_address)
{
	struct pair *p = *state;
	struct ibv_ah *ah = make_ah(&p->a, local_attr());
	struct ibv_qp_ex *ex;
	struct ibv_wc wc;

	use_datagrams(&p->b, NULL);
	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	p->a.qp = make_ex(&p->a, IBV_QPT_UD, IBV_QP_EX_WITH_SEND_WITH_IMM);
	open_datagrams(p->a.qp, QKEY);
	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	ex = ex_of(&p->a);
	assert_non_null(ex->wr_set_ud_addr);
	assert_null(ex->wr_set_xrc_srqn);

	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 1);
	ibv_wr_set_inline_data(ex, "lost", 4);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 1);
	ibv_wr_set_ud_addr(ex, NULL, p->b.qp->qp_num, QKEY);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	expect_none(p->b.cq);

	ibv_wr_start(ex);
	ibv_wr_send_imm(ex, 0x778899aa);
	ibv_wr_set_inline_data(ex, "found", 5);
	ibv_wr_set_ud_addr(ex, ah, p->b.qp->qp_num, QKEY);
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = expect_wc(p->b.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(wc.byte_len, GRH + 5);
	assert_int_equal(wc.imm_data, 0x778899aa);
	assert_memory_equal(p->b.buf + GRH, "found", 5);
	assert_int_equal(ibv_destroy_ah(ah), 0);
}

static void connect_sender(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 1,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	assert_int_equal(to_init(qp, 0), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN),
			 0);
	assert_int_equal(to_rts(qp), 0);
}

/* For each operation, as the table of ibv_wr_post(3) has it. */
TEST(extended_connection_needs_its_queue)
{
	struct pair *p = *state;
	struct ibv_qp *qp = make_ex(&p->a, IBV_QPT_XRC_SEND, ALL_OPS);
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	assert_non_null(ex->wr_set_xrc_srqn);
	assert_null(ex->wr_set_ud_addr);
	connect_sender(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, 1);
	assert_int_equal(ibv_wr_complete(ex), 0);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

TEST(capabilities_are_given_back_exactly)
{
	struct pair *p = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->a.cq,
		.recv_cq = p->a.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 3, 5, 2, 3, 7 },
		.pd = p->a.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(p->a.context, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_send_wr, 3);
	assert_int_equal(attr.cap.max_recv_wr, 5);
	assert_int_equal(attr.cap.max_send_sge, 2);
	assert_int_equal(attr.cap.max_recv_sge, 3);
	assert_int_equal(attr.cap.max_inline_data, 7);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}
