#include <errno.h>

#include "tests/shim/soft/fellow.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* Flags of newer headers, which have the slot behind the last one of these. */
enum {
	WITH_FLUSH = 1 << 11,
	WR_FLUSH = 14,
	WC_FLUSH = 8,
	ACCESS_GLOBAL = 1 << 8,
	ACCESS_PERSISTENT = 1 << 9,
	GLOBAL = 1,
	PERSISTENT = 2,
	RANGE = 0,
	REGION = 1,
};

typedef void flush_fn(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
		      uint8_t type, uint8_t level);

static flush_fn *flush_of(struct ibv_qp_ex *ex)
{
	size_t at = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *);

	return *(flush_fn **)((char *)ex + at);
}

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

static void connect_with(struct ibv_qp *qp, uint32_t dest, int access)
{
	assert_int_equal(to_init(qp, access), 0);
	assert_int_equal(to_rtr(qp, dest), 0);
	assert_int_equal(to_rts(qp), 0);
}

enum { FLUSHABLE = ALL_ACCESS | ACCESS_GLOBAL, BYTES = 4096 };

/* In place of the region that covers all. */
static void use_flushable(struct end *e)
{
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	e->mr = ibv_reg_mr(e->pd, e->buf, BYTES, FLUSHABLE);
	assert_non_null(e->mr);
}

static int set_up(void **state)
{
	struct pair *p;

	pair_setup(state);
	p = *state;
	assert_int_equal(ibv_destroy_qp(p->a.qp), 0);
	p->a.qp = make_ex(&p->a, IBV_QPT_RC, WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE);
	assert_non_null(p->a.qp);
	use_flushable(&p->b);
	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_with(p->b.qp, p->a.qp->qp_num, FLUSHABLE | ACCESS_PERSISTENT);
	return 0;
}

static int flush_at(struct end *e, uint64_t wr_id, uint32_t rkey, uint64_t addr, size_t len,
		    int type, int level)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(e->qp);

	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
	flush_of(ex)(ex, rkey, addr, len, type, level);
	return ibv_wr_complete(ex);
}

static int flush_far(struct pair *p, size_t len, int type, int level)
{
	return flush_at(&p->a, 1, p->b.mr->rkey, (uintptr_t)p->b.buf, len, type, level);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, pair_teardown);

TEST(device_has_it)
{
	struct pair *p = *state;
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(p->a.context, NULL, &attr), 0);
	assert_true(attr.device_cap_flags_ex & 1ull << 38);  /* global, */
	assert_false(attr.device_cap_flags_ex & 1ull << 39); /* not persistent */
	assert_true(attr.device_cap_flags_ex & 1ull << 40);  /* with atomic writes */
	assert_true(attr.odp_caps.per_transport_caps.rc_odp_caps & 1 << 6);
}

TEST(range_is_flushed)
{
	struct pair *p = *state;

	memset(p->a.buf, 'f', 64);
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 64, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	assert_int_equal(flush_far(p, BYTES, GLOBAL, RANGE), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	assert_int_equal(expect_wc(p->a.cq, 1, IBV_WC_SUCCESS).opcode, WC_FLUSH);
	assert_memory_equal(p->b.buf, p->a.buf, 64);
}

TEST(whole_region_needs_no_range)
{
	struct pair *p = *state;

	assert_int_equal(flush_at(&p->a, 1, p->b.mr->rkey, 0, 1ul << 40, GLOBAL, REGION), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
}

TEST(type_that_the_region_does_not_allow)
{
	struct pair *p = *state;

	assert_int_equal(flush_far(p, 8, PERSISTENT, RANGE), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(state_of(p->b.qp), IBV_QPS_ERR);
}

TEST(type_that_the_queue_pair_does_not_allow)
{
	struct pair *p = *state;

	assert_int_equal(to_state(p->b.qp, IBV_QPS_RESET), 0);
	connect_with(p->b.qp, p->a.qp->qp_num, ALL_ACCESS);
	assert_int_equal(flush_far(p, 8, GLOBAL, RANGE), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_INV_REQ_ERR);
}

TEST(range_outside_of_the_region)
{
	struct pair *p = *state;

	assert_int_equal(flush_far(p, BYTES + 1, GLOBAL, RANGE), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
}

/* Unlike that of a write. */
TEST(key_is_checked_without_a_length)
{
	struct pair *p = *state;

	assert_int_equal(flush_at(&p->a, 1, 0x666, 0, 0, GLOBAL, RANGE), 0);
	expect_wc(p->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
}

TEST(bad_types_and_levels)
{
	struct pair *p = *state;

	assert_int_equal(flush_far(p, 8, 0, RANGE), EINVAL);
	assert_int_equal(flush_far(p, 8, 4, RANGE), EINVAL);
	assert_int_equal(flush_far(p, 8, GLOBAL, REGION + 1), EINVAL);
	expect_none(p->a.cq);
}

TEST(flush_has_no_data)
{
	struct pair *p = *state;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(p->a.qp);

	ibv_wr_start(ex);
	flush_of(ex)(ex, p->b.mr->rkey, (uintptr_t)p->b.buf, 8, GLOBAL, RANGE);
	ibv_wr_set_sge(ex, p->a.mr->lkey, (uintptr_t)p->a.buf, 8);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
}

TEST(only_reliable_queue_pairs_that_asked_have_it)
{
	struct pair *p = *state;
	struct ibv_qp *qp = make_ex(&p->a, IBV_QPT_RC, IBV_QP_EX_WITH_SEND);

	assert_null(flush_of(ibv_qp_to_qp_ex(qp)));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_null(make_ex(&p->a, IBV_QPT_UC, WITH_FLUSH));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(make_ex(&p->a, IBV_QPT_UD, WITH_FLUSH));
	assert_int_equal(errno, EOPNOTSUPP);
	qp = make_ex(&p->a, IBV_QPT_XRC_SEND, WITH_FLUSH);
	assert_non_null(flush_of(ibv_qp_to_qp_ex(qp)));
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* Persistent memory and flushes by ibv_post_send() are not supported. */
TEST(what_is_not_there)
{
	struct pair *p = *state;

	errno = 0;
	assert_null(ibv_reg_mr(p->a.pd, p->a.buf, 64, ALL_ACCESS | ACCESS_PERSISTENT));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_at(&p->a, (enum ibv_wr_opcode)WR_FLUSH, 2, 64, (uintptr_t)p->b.buf,
				 p->b.mr->rkey),
			 EINVAL);
}

static void offer_region(struct end *e, int fd, struct address yours)
{
	struct address mine;

	(void)yours;
	use_flushable(e);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
	connect_with(e->qp, yours.qpn, FLUSHABLE);
	mine = end_address(e);
	say_bytes(fd, &mine, sizeof(mine));
	await_word(fd);
}

TEST(region_of_another_process_is_flushed)
{
	struct fellow f = fellow_start(offer_region);
	struct pair *p = *state;
	struct address there;

	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	fellow_meet(&f, &p->a);
	hear_bytes(f.fd, &there, sizeof(there));
	assert_int_equal(flush_at(&p->a, 1, there.rkey, there.addr, BYTES, GLOBAL, RANGE), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	say_bytes(f.fd, "e", 1);
	assert_int_equal(fellow_stop(&f), 0);
}
