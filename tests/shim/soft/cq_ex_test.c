#include <errno.h>
#include <time.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum {
	ALL_FIELDS = IBV_CREATE_CQ_SUP_WC_FLAGS,
};

static struct ibv_poll_cq_attr none;

static struct ibv_cq_ex *make_cq(struct end *e, int cqe, uint64_t wc_flags, uint32_t flags)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.wc_flags = wc_flags,
		.flags = flags,
		.comp_mask = flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
	};

	return ibv_create_cq_ex(e->context, &attr);
}

/* Both ends of p on new queue pairs; b's complete on @cq. */
static void use_cq(struct pair *p, struct ibv_cq_ex *cq)
{
	struct ibv_cq *old = p->b.cq;

	assert_non_null(cq);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	assert_int_equal(ibv_destroy_cq(old), 0);
	p->b.cq = ibv_cq_ex_to_cq(cq);
	p->b.qp = make_qp(&p->b, NULL);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
}

static struct ibv_cq_ex *ex_of(struct end *e)
{
	return (struct ibv_cq_ex *)e->cq;
}

static int set_up(void **state)
{
	struct pair *p;

	pair_setup(state);
	p = *state;
	use_cq(p, make_cq(&p->b, END_CQE, ALL_FIELDS, 0));
	return 0;
}

/* One poll of one entry, which is then the current one. */
static struct ibv_cq_ex *begin_poll(struct end *e, uint64_t wr_id, int status)
{
	struct ibv_cq_ex *cq = ex_of(e);
	int err, tries = 0;

	while ((err = ibv_start_poll(cq, &none)) == ENOENT && tries++ < 200000)
		if (tries > 1000)
			usleep(50);
	assert_int_equal(err, 0);
	assert_int_equal(cq->wr_id, wr_id);
	assert_int_equal(cq->status, status);
	return cq;
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, pair_teardown);

TEST(receives_are_read)
{
	struct pair *p = *state;
	struct ibv_cq_ex *cq;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 0x11223344 };

	assert_int_equal(recv_at(&p->b, 7, 0, 64), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 5)), 0);
	cq = begin_poll(&p->b, 7, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_equal(ibv_wc_read_byte_len(cq), 5);
	assert_int_equal(ibv_wc_read_imm_data(cq), 0x11223344);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_qp_num(cq), p->b.qp->qp_num);
	assert_int_equal(ibv_wc_read_src_qp(cq), p->a.qp->qp_num);
	assert_int_equal(ibv_wc_read_sl(cq), 0);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
	ibv_wc_read_slid(cq);
	ibv_end_poll(cq);
}

/* Nothing here takes VLAN tags out of packets, or matches tags. */
TEST(fields_without_a_meaning_are_zero)
{
	struct pair *p = *state;
	struct ibv_wc_tm_info info = { .tag = 1, .priv = 1 };
	struct ibv_cq_ex *cq;

	assert_int_equal(recv_at(&p->b, 7, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	cq = begin_poll(&p->b, 7, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_cvlan(cq), 0);
	assert_int_equal(ibv_wc_read_flow_tag(cq), 0);
	ibv_wc_read_tm_info(cq, &info);
	assert_int_equal(info.tag, 0);
	assert_int_equal(info.priv, 0);
	ibv_end_poll(cq);
}

static void post_and_expect(struct pair *p, enum ibv_wr_opcode opcode, enum ibv_wc_opcode expected)
{
	struct ibv_send_wr wr = { .wr_id = 9, .opcode = opcode };
	struct ibv_cq_ex *cq;

	wr.wr.atomic.remote_addr = (uintptr_t)p->a.buf;
	wr.wr.rdma.remote_addr = (uintptr_t)p->a.buf;
	wr.wr.rdma.rkey = p->a.mr->rkey;
	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr.wr.atomic.rkey = p->a.mr->rkey;
	assert_int_equal(recv_at(&p->a, 1, 64, 8), 0);
	assert_int_equal(send_wr(&p->b, wr, sge_of(&p->b, 0, 8)), 0);
	cq = begin_poll(&p->b, 9, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), expected);
	ibv_end_poll(cq);
}

TEST(sends_are_read)
{
	struct pair *p = *state;

	post_and_expect(p, IBV_WR_SEND, IBV_WC_SEND);
	post_and_expect(p, IBV_WR_SEND_WITH_IMM, IBV_WC_SEND);
	post_and_expect(p, IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE);
	post_and_expect(p, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE);
	post_and_expect(p, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ);
	post_and_expect(p, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP);
	post_and_expect(p, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD);
	post_and_expect(p, IBV_WR_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE);
}

TEST(invalidated_key_is_read)
{
	struct pair *p = *state;
	struct ibv_mw *mw = ibv_alloc_mw(p->b.pd, IBV_MW_TYPE_2);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf, 64, ALL_ACCESS | IBV_ACCESS_MW_BIND);
	struct ibv_send_wr *bad, bind = {
		.wr_id = 1,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { mw,
			     mw->rkey,
			     { mr, (uintptr_t)p->b.buf, 64, IBV_ACCESS_REMOTE_WRITE } },
	};
	struct ibv_send_wr inv = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = mw->rkey };
	struct ibv_cq_ex *cq;

	assert_int_equal(ibv_post_send(p->b.qp, &bind, &bad), 0);
	cq = begin_poll(&p->b, 1, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_BIND_MW);
	ibv_end_poll(cq);
	assert_int_equal(recv_at(&p->b, 2, 0, 8), 0);
	assert_int_equal(send_wr(&p->a, inv, sge_of(&p->a, 0, 8)), 0);
	cq = begin_poll(&p->b, 2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_INV);
	assert_int_equal(ibv_wc_read_invalidated_rkey(cq), mw->rkey);
	ibv_end_poll(cq);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(next_goes_on_to_the_end)
{
	struct pair *p = *state;
	struct ibv_cq_ex *cq;
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 64), 0);
		assert_int_equal(send_at(&p->a, i, 0, i), 0);
	}
	cq = begin_poll(&p->b, 0, IBV_WC_SUCCESS);
	for (i = 1; i < 3; i++) {
		assert_int_equal(ibv_next_poll(cq), 0);
		assert_int_equal(cq->wr_id, i);
		assert_int_equal(ibv_wc_read_byte_len(cq), i);
	}
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_int_equal(ibv_start_poll(cq, &none), ENOENT);
}

TEST(unknown_poll_attribute_is_invalid)
{
	struct pair *p = *state;
	struct ibv_poll_cq_attr attr = { .comp_mask = 1 };

	assert_int_equal(ibv_start_poll(ex_of(&p->b), &attr), EINVAL);
}

TEST(classic_poll_takes_the_same_entries)
{
	struct pair *p = *state;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 6), 0);
	ibv_end_poll(begin_poll(&p->b, 1, IBV_WC_SUCCESS));
	assert_int_equal(expect_wc(p->b.cq, 2, IBV_WC_SUCCESS).byte_len, 6);
	expect_none(p->b.cq);
}

/* Calls that would wait for this thread itself are refused. */
TEST(polls_within_a_poll)
{
	struct pair *p = *state;
	struct ibv_cq_ex *cq;
	struct ibv_wc wc;
	int i;

	for (i = 0; i < 2; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 64), 0);
		assert_int_equal(send_at(&p->a, i, 0, 5), 0);
	}
	cq = begin_poll(&p->b, 0, IBV_WC_SUCCESS);
	assert_int_equal(ibv_start_poll(cq, &none), EINVAL);
	errno = 0;
	assert_int_equal(ibv_poll_cq(p->b.cq, 1, &wc), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_resize_cq(p->b.cq, 4), EBUSY);
	ibv_end_poll(cq);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
}

/* The slot of the receive is returned once, by the poll. */
TEST(reset_within_a_poll_of_a_shared_queue)
{
	struct pair *p = *state;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(p->b.pd, &attr);
	struct ibv_sge sge = sge_of(&p->b, 0, 64);
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };
	struct ibv_cq_ex *cq;

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = make_qp(&p->b, srq);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	wr.wr_id = 1;
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	wr.wr_id = 2;
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	cq = begin_poll(&p->b, 1, IBV_WC_SUCCESS);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

TEST(timestamps_grow)
{
	struct pair *p = *state;
	uint64_t before, stamp, wall;
	struct timespec now;
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_cq_ex *cq;

	assert_int_equal(ibv_query_rt_values_ex(p->b.context, &values), 0);
	before = values.raw_clock.tv_nsec;
	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	cq = begin_poll(&p->b, 1, IBV_WC_SUCCESS);
	stamp = ibv_wc_read_completion_ts(cq);
	wall = ibv_wc_read_completion_wallclock_ns(cq);
	ibv_end_poll(cq);
	assert_int_equal(ibv_query_rt_values_ex(p->b.context, &values), 0);
	assert_in_range(stamp, before, values.raw_clock.tv_nsec);
	clock_gettime(CLOCK_REALTIME, &now);
	assert_in_range(wall, (now.tv_sec - 20) * 1000000000ull, (now.tv_sec + 1) * 1000000000ull);
}

TEST(only_fields_that_were_asked_for_are_there)
{
	struct pair *p = *state;
	struct ibv_cq_ex *cq = make_cq(&p->a, 4, IBV_WC_EX_WITH_BYTE_LEN, 0);

	assert_non_null(cq->read_byte_len);
	assert_non_null(cq->read_opcode);
	assert_non_null(cq->read_vendor_err);
	assert_non_null(cq->read_wc_flags);
	assert_null(cq->read_imm_data);
	assert_null(cq->read_completion_ts);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

TEST(fields_that_the_device_lacks)
{
	struct pair *p = *state;

	errno = 0;
	assert_null(make_cq(&p->a, 4, 1ull << 40, 0));
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(make_cq(&p->a, 4, 0, 1 << 20));
	assert_int_equal(errno, EOPNOTSUPP);
}

TEST(single_threaded_queue_works)
{
	struct pair *p = *state;

	use_cq(p, make_cq(&p->b, 4, 0, IBV_CREATE_CQ_ATTR_SINGLE_THREADED));
	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 1, 0, 5), 0);
	ibv_end_poll(begin_poll(&p->b, 1, IBV_WC_SUCCESS));
}

/* The data arrives all the same, and no queue pair fails. */
TEST(overrun_may_be_ignored)
{
	struct pair *p = *state;
	int i;

	use_cq(p, make_cq(&p->b, 2, ALL_FIELDS, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN));
	for (i = 0; i < 4; i++) {
		p->a.buf[i] = 'a' + i;
		assert_int_equal(recv_at(&p->b, i, i, 1), 0);
		assert_int_equal(send_at(&p->a, i, i, 1), 0);
		expect_wc(p->a.cq, i, IBV_WC_SUCCESS);
	}
	expect_wc(p->b.cq, 0, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_none(p->b.cq);
	assert_memory_equal(p->b.buf, "abcd", 4);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_RTS);
	assert_int_equal(recv_at(&p->b, 5, 0, 1), 0);
	assert_int_equal(send_at(&p->a, 5, 0, 1), 0);
	expect_wc(p->b.cq, 5, IBV_WC_SUCCESS);
}

static void send_four(struct end *e, int fd, struct address yours)
{
	int i;

	(void)yours;
	await_word(fd);
	for (i = 0; i < 4; i++) {
		memset(e->buf, 'a' + i, 100);
		assert_int_equal(send_at(e, i, 0, i % 2 ? 100 : 1), 0);
		expect_wc(e->cq, i, IBV_WC_SUCCESS);
	}
	say_bytes(fd, "d", 1);
	await_word(fd);
}

/* Payload that travels with its completion does not go with it. */
TEST_WITH(dropped_completions_leave_their_payload, NULL, NULL)
{
	struct fellow f = fellow_start(send_four);
	struct end e = { 0 };
	char word;
	int i;

	end_open(&e);
	assert_int_equal(ibv_destroy_qp(e.qp), 0);
	assert_int_equal(ibv_destroy_cq(e.cq), 0);
	e.cq = ibv_cq_ex_to_cq(make_cq(&e, 2, 0, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN));
	e.qp = make_qp(&e, NULL);
	fellow_meet(&f, &e);
	for (i = 0; i < 4; i++)
		assert_int_equal(recv_at(&e, i, i * 128, 128), 0);
	say_bytes(f.fd, "g", 1);
	hear_bytes(f.fd, &word, 1);
	expect_wc(e.cq, 0, IBV_WC_SUCCESS);
	expect_wc(e.cq, 1, IBV_WC_SUCCESS);
	expect_none(e.cq);
	for (i = 0; i < 4; i++)
		assert_int_equal(e.buf[i * 128], 'a' + i);
	assert_int_equal(e.buf[3 * 128 + 99], 'd');
	assert_int_equal(fellow_stop(&f), 0);
	end_close(&e);
}

TEST(moderation_is_taken)
{
	struct pair *p = *state;
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { 8, 16 },
	};
	struct ibv_device_attr_ex device;

	assert_int_equal(ibv_query_device_ex(p->b.context, NULL, &device), 0);
	assert_true(device.cq_mod_caps.max_cq_count >= 8);
	assert_true(device.cq_mod_caps.max_cq_period >= 16);
	assert_int_equal(ibv_modify_cq(p->b.cq, &attr), 0);
	attr.attr_mask = IBV_CQ_ATTR_RESERVED;
	assert_int_equal(ibv_modify_cq(p->b.cq, &attr), EINVAL);
}

TEST(strict_device_spoils_what_is_read_of_errors)
{
	struct pair *p = *state;
	struct ibv_cq_ex *cq;

	setenv("VERBATIM_SOFT_STRICT", "1", 1);
	assert_int_equal(recv_at(&p->b, 1, 0, 5), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_ERR), 0);
	cq = begin_poll(&p->b, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_wc_read_qp_num(cq), p->b.qp->qp_num);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_not_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cq), 0xdeadbeef);
	assert_int_equal(ibv_wc_read_imm_data(cq), 0xdeadbeef);
	assert_int_equal(ibv_wc_read_src_qp(cq), 0xadbeef);
	assert_int_not_equal(ibv_wc_read_wc_flags(cq), 0);
	ibv_end_poll(cq);
	unsetenv("VERBATIM_SOFT_STRICT");
}

TEST(errors_are_plain_otherwise)
{
	struct pair *p = *state;
	struct ibv_cq_ex *cq;

	assert_int_equal(recv_at(&p->b, 1, 0, 5), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_ERR), 0);
	cq = begin_poll(&p->b, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	ibv_end_poll(cq);
}
