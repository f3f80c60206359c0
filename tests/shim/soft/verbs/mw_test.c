#include <errno.h>
#include <pthread.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum {
	BINDABLE = ALL_ACCESS | IBV_ACCESS_MW_BIND,
	ALL_REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC
};

/* Windows are b's, whose region allows them; a uses them. */
static int set_up(void **state)
{
	struct pair *p;

	pair_setup(state);
	p = *state;
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = ibv_reg_mr(p->b.pd, p->b.buf, END_BYTES, BINDABLE);
	assert_non_null(p->b.mr);
	return 0;
}

static struct ibv_mw_bind_info part_of(struct ibv_mr *mr, uint64_t off, uint64_t length,
				       unsigned int access)
{
	return (struct ibv_mw_bind_info){ mr, (uintptr_t)mr->addr + off, length, access };
}

static struct ibv_mw *alloc_mw(struct end *e, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(e->pd, type);

	assert_non_null(mw);
	assert_int_equal(mw->type, type);
	return mw;
}

static int bind_1(struct end *e, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind bind = { .wr_id = 11,
				    .bind_info = info,
				    .send_flags = IBV_SEND_SIGNALED };

	return ibv_bind_mw(e->qp, mw, &bind);
}

static int bind_2(struct end *e, struct ibv_mw *mw, uint32_t rkey, struct ibv_mw_bind_info info)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 12,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { mw, rkey, info },
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

static int post_invalidate(struct end *e, enum ibv_wr_opcode opcode, uint32_t rkey)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = 13,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

/* A window of type 2 that is bound to the first 64 bytes of b. */
static struct ibv_mw *bound_2(struct pair *p, unsigned int access)
{
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2);

	mw->rkey = ibv_inc_rkey(mw->rkey);
	assert_int_equal(bind_2(&p->b, mw, mw->rkey, part_of(p->b.mr, 0, 64, access)), 0);
	assert_int_equal(expect_wc(p->b.cq, 12, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	return mw;
}

static struct ibv_mw *bound_1(struct pair *p, unsigned int access)
{
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_1);

	assert_int_equal(bind_1(&p->b, mw, part_of(p->b.mr, 0, 64, access)), 0);
	assert_int_equal(expect_wc(p->b.cq, 11, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	return mw;
}

static uint64_t far_address(struct pair *p)
{
	return (uintptr_t)p->b.buf;
}

static void expect_write(struct pair *p, uint32_t rkey, uint64_t addr, uint32_t length, int status)
{
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, length, addr, rkey), 0);
	expect_wc(p->a.cq, 1, status);
}

static void expect_denied(struct pair *p, uint32_t rkey, uint64_t addr, uint32_t length)
{
	struct ibv_async_event event;

	expect_write(p, rkey, addr, length, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_get_async_event(p->b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, p->b.qp);
	ibv_ack_async_event(&event);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
}

static void expect_bind_error(struct pair *p, uint64_t wr_id)
{
	expect_wc(p->b.cq, wr_id, IBV_WC_MW_BIND_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, pair_teardown);

TEST(device_tells_of_windows)
{
	struct pair *p = *state;
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(p->a.context, &attr), 0);
	assert_true(attr.max_mw > 0);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_false(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
}

TEST(unknown_type_is_invalid)
{
	struct pair *p = *state;

	errno = 0;
	assert_null(ibv_alloc_mw(p->b.pd, 3));
	assert_int_equal(errno, EINVAL);
}

TEST(domain_with_a_window_is_busy)
{
	struct pair *p = *state;
	struct ibv_pd *pd = ibv_alloc_pd(p->b.context);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

TEST(keys_change_on_reuse)
{
	struct pair *p = *state;
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2), *other;
	uint32_t key = mw->rkey;

	other = alloc_mw(&p->b, IBV_MW_TYPE_2);
	assert_int_not_equal(key >> 8, other->rkey >> 8);
	assert_int_equal(ibv_dealloc_mw(other), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	mw = alloc_mw(&p->b, IBV_MW_TYPE_2);
	assert_int_not_equal(key >> 8, mw->rkey >> 8);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(unbound_window_is_not_accessible)
{
	struct pair *p = *state;
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_1);

	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(type_1_gives_access)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);

	assert_int_not_equal(mw->rkey, p->b.mr->rkey);
	memcpy(p->a.buf, "through", 7);
	expect_write(p, mw->rkey, far_address(p) + 57, 7, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf + 57, "through", 7);
	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 2, 8, far_address(p), mw->rkey), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(window_ends_where_it_ends)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);

	expect_denied(p, mw->rkey, far_address(p) + 58, 7);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(window_has_its_own_rights)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, IBV_ACCESS_REMOTE_READ);

	assert_int_equal(rdma_at(&p->a, IBV_WR_RDMA_READ, 2, 8, far_address(p), mw->rkey), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(rebind_moves_type_1)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);
	uint32_t old = mw->rkey;

	assert_int_equal(bind_1(&p->b, mw, part_of(p->b.mr, 128, 64, ALL_REMOTE)), 0);
	expect_wc(p->b.cq, 11, IBV_WC_SUCCESS);
	assert_int_not_equal(mw->rkey, old);
	expect_write(p, mw->rkey, far_address(p) + 128, 64, IBV_WC_SUCCESS);
	expect_denied(p, old, far_address(p) + 128, 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(zero_length_unbinds_type_1)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);

	assert_int_equal(ibv_dereg_mr(p->b.mr), EBUSY);
	assert_int_equal(bind_1(&p->b, mw, part_of(p->b.mr, 0, 0, 0)), 0);
	expect_wc(p->b.cq, 11, IBV_WC_SUCCESS);
	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = NULL;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(type_1_is_not_zero_based)
{
	struct pair *p = *state;
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_1);
	uint32_t key = mw->rkey;

	assert_int_equal(
		bind_1(&p->b, mw, part_of(p->b.mr, 0, 64, ALL_REMOTE | IBV_ACCESS_ZERO_BASED)),
		EINVAL);
	assert_int_equal(mw->rkey, key);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(type_1_belongs_to_no_queue_pair)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);
	struct ibv_qp *old = p->b.qp;

	p->b.qp = make_qp(&p->b, NULL);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	expect_write(p, mw->rkey, far_address(p), 64, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(old), 0);
	expect_write(p, mw->rkey, far_address(p), 64, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(dealloc_unbinds)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);
	uint32_t key = mw->rkey;

	assert_int_equal(ibv_dealloc_mw(mw), 0);
	expect_denied(p, key, far_address(p), 1);
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = NULL;
}

TEST(region_with_a_window_is_not_changed)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);

	assert_int_equal(ibv_rereg_mr(p->b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, BINDABLE),
			 IBV_REREG_MR_ERR_INPUT);
	expect_write(p, p->b.mr->rkey, far_address(p), 64, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_rereg_mr(p->b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, BINDABLE),
			 0);
	mw = bound_1(p, ALL_REMOTE);
	expect_write(p, mw->rkey, far_address(p), 64, IBV_WC_SUCCESS);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(type_2_gives_access)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);

	memcpy(p->a.buf, "through", 7);
	expect_write(p, mw->rkey, far_address(p), 7, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf, "through", 7);
	assert_int_equal(ibv_dereg_mr(p->b.mr), EBUSY);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(type_2_may_be_zero_based)
{
	struct pair *p = *state;
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2);

	mw->rkey = ibv_inc_rkey(mw->rkey);
	assert_int_equal(bind_2(&p->b, mw, mw->rkey,
				part_of(p->b.mr, 32, 64, ALL_REMOTE | IBV_ACCESS_ZERO_BASED)),
			 0);
	expect_wc(p->b.cq, 12, IBV_WC_SUCCESS);
	memcpy(p->a.buf, "zero", 4);
	expect_write(p, mw->rkey, 60, 4, IBV_WC_SUCCESS);
	assert_memory_equal(p->b.buf + 92, "zero", 4);
	expect_denied(p, mw->rkey, 61, 4);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(type_2_belongs_to_its_queue_pair)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);
	struct ibv_qp *old = p->b.qp;

	p->b.qp = make_qp(&p->b, NULL);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_destroy_qp(old), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(reset_unbinds_type_2)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = NULL;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(destroy_unbinds_type_2)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = NULL;
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = NULL;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(local_invalidate)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);

	assert_int_equal(post_invalidate(&p->b, IBV_WR_LOCAL_INV, mw->rkey), 0);
	assert_int_equal(expect_wc(p->b.cq, 13, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_dereg_mr(p->b.mr), 0);
	p->b.mr = NULL;
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(bind_after_invalidate)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);
	uint32_t old = mw->rkey;

	assert_int_equal(post_invalidate(&p->b, IBV_WR_LOCAL_INV, old), 0);
	mw->rkey = ibv_inc_rkey(old);
	assert_int_equal(bind_2(&p->b, mw, mw->rkey, part_of(p->b.mr, 64, 8, ALL_REMOTE)), 0);
	expect_wc(p->b.cq, 13, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 12, IBV_WC_SUCCESS);
	expect_write(p, mw->rkey, far_address(p) + 64, 8, IBV_WC_SUCCESS);
	expect_denied(p, old, far_address(p) + 64, 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(remote_invalidate)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .invalidate_rkey = mw->rkey };
	struct ibv_wc wc;

	memcpy(p->a.buf, "done", 4);
	assert_int_equal(recv_at(&p->b, 4, 256, 64), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), 0);
	assert_int_equal(expect_wc(p->a.cq, 3, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	wc = expect_wc(p->b.cq, 4, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mw->rkey);
	assert_int_equal(wc.byte_len, 4);
	assert_memory_equal(p->b.buf + 256, "done", 4);
	expect_denied(p, mw->rkey, far_address(p), 1);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void expect_refused_invalidate(struct pair *p, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 3,
				  .opcode = IBV_WR_SEND_WITH_INV,
				  .invalidate_rkey = rkey };

	assert_int_equal(recv_at(&p->b, 4, 256, 64), 0);
	assert_int_equal(send_wr(&p->a, wr, sge_of(&p->a, 0, 4)), 0);
	expect_wc(p->a.cq, 3, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p->b.cq, 4, IBV_WC_REM_INV_REQ_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
}

TEST(remote_invalidate_of_type_1)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_1(p, ALL_REMOTE);

	expect_refused_invalidate(p, mw->rkey);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(remote_invalidate_of_a_region)
{
	struct pair *p = *state;

	expect_refused_invalidate(p, p->b.mr->rkey);
}

TEST(local_invalidate_of_a_region)
{
	struct pair *p = *state;

	assert_int_equal(post_invalidate(&p->b, IBV_WR_LOCAL_INV, p->b.mr->rkey), 0);
	expect_bind_error(p, 13);
}

TEST(local_invalidate_of_an_old_key)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);

	assert_int_equal(post_invalidate(&p->b, IBV_WR_LOCAL_INV, mw->rkey - 1), 0);
	expect_bind_error(p, 13);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(bind_of_what_is_bound)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, ALL_REMOTE);

	assert_int_equal(
		bind_2(&p->b, mw, ibv_inc_rkey(mw->rkey), part_of(p->b.mr, 0, 64, ALL_REMOTE)), 0);
	expect_bind_error(p, 12);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

static void expect_bad_bind(struct pair *p, struct ibv_mw_bind_info info)
{
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2);

	assert_int_equal(bind_2(&p->b, mw, ibv_inc_rkey(mw->rkey), info), 0);
	expect_bind_error(p, 12);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(bind_of_nothing)
{
	struct pair *p = *state;

	expect_bad_bind(p, part_of(p->b.mr, 0, 0, ALL_REMOTE));
}

TEST(bind_beyond_the_region)
{
	struct pair *p = *state;

	expect_bad_bind(p, part_of(p->b.mr, END_BYTES - 4, 5, ALL_REMOTE));
}

TEST(bind_to_a_region_that_forbids_it)
{
	struct pair *p = *state;
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf, 64, ALL_ACCESS);

	expect_bad_bind(p, part_of(mr, 0, 64, ALL_REMOTE));
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(bind_for_writing_what_is_not_writable)
{
	struct pair *p = *state;
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf, 64, IBV_ACCESS_MW_BIND);

	expect_bad_bind(p, part_of(mr, 0, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

TEST(bind_to_another_domain)
{
	struct pair *p = *state;
	struct ibv_pd *pd = ibv_alloc_pd(p->b.context);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->b.buf, 64, BINDABLE);

	expect_bad_bind(p, part_of(mr, 0, 64, ALL_REMOTE));
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

TEST(bind_on_a_queue_pair_of_another_domain)
{
	struct pair *p = *state;
	struct ibv_pd *pd = ibv_alloc_pd(p->b.context);
	struct ibv_mr *mr = ibv_reg_mr(pd, p->b.buf, 64, BINDABLE);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);

	assert_int_equal(bind_1(&p->b, mw, part_of(mr, 0, 64, ALL_REMOTE)), 0);
	expect_bind_error(p, 11);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

TEST(bind_with_the_key_of_another_window)
{
	struct pair *p = *state;
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2);
	struct ibv_mw *other = alloc_mw(&p->b, IBV_MW_TYPE_2);

	assert_int_equal(
		bind_2(&p->b, mw, ibv_inc_rkey(other->rkey), part_of(p->b.mr, 0, 64, ALL_REMOTE)),
		0);
	expect_bind_error(p, 12);
	assert_int_equal(ibv_dealloc_mw(other), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(bind_to_a_region_that_is_gone)
{
	struct pair *p = *state;
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2);
	struct ibv_mr *mr = ibv_reg_mr(p->b.pd, p->b.buf, 64, BINDABLE);
	struct ibv_mw_bind_info info = part_of(mr, 0, 64, ALL_REMOTE);

	/* behind a send that waits for its receiver */
	assert_int_equal(send_at(&p->b, 1, 0, 4), 0);
	assert_int_equal(bind_2(&p->b, mw, ibv_inc_rkey(mw->rkey), info), 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(recv_at(&p->a, 2, 0, 4), 0);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_bind_error(p, 12);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(atomic_write_of_eight_bytes)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	memcpy(p->a.buf, "8 bytes.", 8);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_ATOMIC_WRITE, 1, 8, far_address(p) + 16, p->b.mr->rkey), 0);
	wc = expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_ATOMIC_WRITE);
	assert_memory_equal(p->b.buf + 16, "8 bytes.", 8);
}

TEST(atomic_write_of_other_lengths)
{
	struct pair *p = *state;

	assert_int_equal(rdma_at(&p->a, IBV_WR_ATOMIC_WRITE, 1, 4, far_address(p), p->b.mr->rkey),
			 0);
	expect_wc(p->a.cq, 1, IBV_WC_LOC_LEN_ERR);
}

TEST(atomic_write_off_its_alignment)
{
	struct pair *p = *state;

	assert_int_equal(
		rdma_at(&p->a, IBV_WR_ATOMIC_WRITE, 1, 8, far_address(p) + 4, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_INV_REQ_ERR);
}

TEST(atomic_write_without_the_right)
{
	struct pair *p = *state;
	struct ibv_mw *mw = bound_2(p, IBV_ACCESS_REMOTE_ATOMIC);

	assert_int_equal(rdma_at(&p->a, IBV_WR_ATOMIC_WRITE, 1, 8, far_address(p), mw->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

struct writer {
	struct pair *p;
	uint32_t rkey;
	uint32_t done;
};

static void *write_until_denied(void *arg)
{
	struct writer *w = arg;
	int status;

	do {
		assert_int_equal(
			rdma_at(&w->p->a, IBV_WR_RDMA_WRITE, 1, 64, far_address(w->p), w->rkey), 0);
		status = poll_one(w->p->a.cq).status;
		__atomic_add_fetch(&w->done, 1, __ATOMIC_RELAXED);
	} while (status == IBV_WC_SUCCESS);
	assert_int_equal(status, IBV_WC_REM_ACCESS_ERR);
	return NULL;
}

static void reconnect_pair(struct pair *p)
{
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
}

/* Once @close_it has completed, the memory is ours alone. */
static void close_under_load(struct pair *p, struct ibv_mw *mw,
			     void (*close_it)(struct pair *p, struct ibv_mw *mw))
{
	struct writer w = { .p = p, .rkey = mw->rkey };
	pthread_t thread;
	uint8_t ours[64];

	memset(ours, 0x77, sizeof(ours));
	assert_int_equal(pthread_create(&thread, NULL, write_until_denied, &w), 0);
	while (!__atomic_load_n(&w.done, __ATOMIC_RELAXED))
		sched_yield();
	close_it(p, mw);
	memcpy(p->b.buf, ours, sizeof(ours));
	pthread_join(thread, NULL);
	assert_memory_equal(p->b.buf, ours, sizeof(ours));
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	reconnect_pair(p);
}

static void unbind_mw(struct pair *p, struct ibv_mw *mw)
{
	assert_int_equal(bind_1(&p->b, mw, part_of(p->b.mr, 0, 0, 0)), 0);
	expect_wc(p->b.cq, 11, IBV_WC_SUCCESS);
}

static void invalidate_it(struct pair *p, struct ibv_mw *mw)
{
	assert_int_equal(post_invalidate(&p->b, IBV_WR_LOCAL_INV, mw->rkey), 0);
	expect_wc(p->b.cq, 13, IBV_WC_SUCCESS);
}

TEST(nobody_writes_after_the_end)
{
	struct pair *p = *state;
	int i;

	for (i = 0; i < 50; i++) {
		close_under_load(p, bound_1(p, ALL_REMOTE), unbind_mw);
		close_under_load(p, bound_2(p, ALL_REMOTE), invalidate_it);
	}
}

/* The four that only memory windows and newer devices need. */
TEST(builders_of_them)
{
	struct pair *p = *state;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = p->b.cq,
		.recv_cq = p->b.cq,
		.qp_type = IBV_QPT_RC,
		.cap = { 4, 4, 0, 1, 0 },
		.pd = p->b.pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
				  IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE,
	};
	struct ibv_mw *mw = alloc_mw(&p->b, IBV_MW_TYPE_2), *of_a;
	struct ibv_mr *mr = ibv_reg_mr(p->a.pd, p->a.buf, 64, BINDABLE);
	struct ibv_mw_bind_info info = part_of(p->b.mr, 0, 64, ALL_REMOTE);
	struct ibv_qp_ex *ex;

	assert_int_equal(ibv_destroy_qp(p->b.qp), 0);
	p->b.qp = ibv_create_qp_ex(p->b.context, &attr);
	assert_non_null(p->b.qp);
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	of_a = alloc_mw(&p->a, IBV_MW_TYPE_2);
	assert_int_equal(bind_2(&p->a, of_a, of_a->rkey, part_of(mr, 0, 64, ALL_REMOTE)), 0);
	expect_wc(p->a.cq, 12, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(&p->a, 5, 0, 8), 0);

	ex = ibv_qp_to_qp_ex(p->b.qp);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ibv_wr_bind_mw(ex, mw, mw->rkey, &info);
	ex->wr_id = 2;
	ibv_wr_atomic_write(ex, of_a->rkey, (uintptr_t)p->a.buf + 8, "12345678");
	ex->wr_id = 3;
	ibv_wr_local_inv(ex, mw->rkey);
	ex->wr_id = 4;
	ibv_wr_send_inv(ex, of_a->rkey);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(expect_wc(p->b.cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
	assert_int_equal(expect_wc(p->b.cq, 2, IBV_WC_SUCCESS).opcode, IBV_WC_ATOMIC_WRITE);
	assert_int_equal(expect_wc(p->b.cq, 3, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	assert_int_equal(expect_wc(p->b.cq, 4, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	assert_memory_equal(p->a.buf + 8, "12345678", 8);
	assert_int_equal(expect_wc(p->a.cq, 5, IBV_WC_SUCCESS).invalidated_rkey, of_a->rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(of_a), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

/* The fellow binds; its peer here writes, and invalidates with its send. */
static void own_a_window(struct end *e, int fd, struct address yours)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, 4096, BINDABLE);
	struct ibv_mw *mw = alloc_mw(e, IBV_MW_TYPE_2);
	struct ibv_wc wc;

	(void)yours;
	assert_int_equal(
		bind_2(e, mw, mw->rkey, part_of(mr, 16, 64, ALL_REMOTE | IBV_ACCESS_ZERO_BASED)),
		0);
	expect_wc(e->cq, 12, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(e, 1, 4096, 8192), 0);
	say_bytes(fd, &mw->rkey, sizeof(mw->rkey));
	wc = expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV);
	assert_int_equal(wc.invalidated_rkey, mw->rkey);
	assert_memory_equal(e->buf + 20, "across", 6);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	say_bytes(fd, "d", 1);
	await_word(fd);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
}

TEST(bind_without_a_window)
{
	struct pair *p = *state;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW };

	assert_int_equal(ibv_post_send(p->b.qp, &wr, &bad), EINVAL);
}

TEST_WITH(window_of_another_process, NULL, NULL)
{
	struct fellow f = fellow_start(own_a_window);
	struct ibv_send_wr inv = { .wr_id = 2, .opcode = IBV_WR_SEND_WITH_INV };
	struct end e = { 0 };
	char word;

	end_open(&e);
	fellow_meet(&f, &e);
	hear_bytes(f.fd, &inv.invalidate_rkey, sizeof(inv.invalidate_rkey));
	memcpy(e.buf, "across", 6);
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_WRITE, 1, 6, 4, inv.invalidate_rkey), 0);
	expect_wc(e.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(send_wr(&e, inv, sge_of(&e, 0, 200)), 0);
	expect_wc(e.cq, 2, IBV_WC_SUCCESS);
	hear_bytes(f.fd, &word, 1);
	assert_int_equal(rdma_at(&e, IBV_WR_RDMA_WRITE, 3, 6, 4, inv.invalidate_rkey), 0);
	expect_wc(e.cq, 3, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(fellow_stop(&f), 0);
	end_close(&e);
}
