#include "shim/soft/verbs/qp.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static int set_up(void **state)
{
	struct end *e = calloc(1, sizeof(*e));

	end_open(e);
	*state = e;
	return 0;
}

static int tear_down(void **state)
{
	end_close(*state);
	free(*state);
	return 0;
}

enum {
	INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	      IBV_QP_MAX_QP_RD_ATOMIC,
};

static const struct ibv_qp_attr good = {
	.port_num = 1,
	.path_mtu = IBV_MTU_1024,
	.ah_attr = { .dlid = 1, .port_num = 1 },
	.timeout = 8,
};

static int modify_state(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = good;

	attr.qp_state = to;
	return ibv_modify_qp(qp, &attr, mask);
}

/* Each bit of @mask is required, and no other is allowed. */
static void expect_mask(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	int bit;

	for (bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if (mask & bit)
			assert_int_equal(modify_state(qp, to, mask & ~bit), EINVAL);
	assert_int_equal(modify_state(qp, to, mask | IBV_QP_QKEY), EINVAL);
	assert_int_equal(modify_state(qp, to, mask | IBV_QP_CAP), EINVAL);
	assert_int_equal(modify_state(qp, to, mask), 0);
	assert_int_equal(state_of(qp), to);
	assert_int_equal(qp->state, to);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(each_step_needs_its_mask)
{
	struct end *e = *state;

	assert_int_equal(state_of(e->qp), IBV_QPS_RESET);
	expect_mask(e->qp, IBV_QPS_INIT, INIT);
	expect_mask(e->qp, IBV_QPS_RTR, RTR);
	expect_mask(e->qp, IBV_QPS_RTS, RTS);
	expect_mask(e->qp, IBV_QPS_SQD, IBV_QP_STATE);
	expect_mask(e->qp, IBV_QPS_RTS, IBV_QP_STATE);
	expect_mask(e->qp, IBV_QPS_ERR, IBV_QP_STATE);
	expect_mask(e->qp, IBV_QPS_RESET, IBV_QP_STATE);
}

TEST(steps_are_not_skipped)
{
	struct end *e = *state;

	assert_int_equal(modify_state(e->qp, IBV_QPS_RTR, RTR), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_SQD, IBV_QP_STATE), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_SQE, IBV_QP_STATE), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(modify_state(e->qp, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_ERR, IBV_QP_STATE), 0);
	assert_int_equal(modify_state(e->qp, IBV_QPS_INIT, INIT), EINVAL);
}

TEST(values_are_checked)
{
	struct end *e = *state;
	struct ibv_qp_attr attr = good;

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 2;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, INIT), EINVAL);
	attr.port_num = 1;
	attr.pkey_index = 1;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, INIT), EINVAL);
	attr.pkey_index = 0;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, INIT), 0);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = 9;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTR), EINVAL);
	attr.path_mtu = IBV_MTU_256;
	attr.max_dest_rd_atomic = 17;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTR), EINVAL);
}

TEST(claimed_state_must_be_true)
{
	struct end *e = *state;
	struct ibv_qp_attr attr = good;

	assert_int_equal(modify_state(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(modify_state(e->qp, IBV_QPS_RTR, RTR), 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTS | IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTS | IBV_QP_CUR_STATE), 0);
}

TEST(query_tells_what_was_given)
{
	struct end *e = *state;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	connect_to(e->qp, 0x123456);
	assert_int_equal(ibv_query_qp(e->qp, &attr, IBV_QP_CAP, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, 0x123456);
	assert_int_equal(attr.timeout, 8);
	assert_int_equal(attr.qp_access_flags, ALL_ACCESS);
	assert_int_equal(attr.cap.max_send_wr, END_DEPTH);
	assert_ptr_equal(init.send_cq, e->cq);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
}

/* All values differ, so that none can be mistaken for its neighbour. */
static const struct ibv_qp_attr given = {
	.qp_access_flags = IBV_ACCESS_REMOTE_READ,
	.port_num = 1,
	.path_mtu = IBV_MTU_512,
	.dest_qp_num = 0x123456,
	.rq_psn = 0xaaaaaa,
	.sq_psn = 0xbbbbbb,
	.max_dest_rd_atomic = 3,
	.max_rd_atomic = 4,
	.min_rnr_timer = 5,
	.timeout = 6,
	.retry_cnt = 2,
	.rnr_retry = 1,
	.ah_attr = { .dlid = 1, .sl = 7, .port_num = 1, .static_rate = 2 },
	.alt_ah_attr = { .dlid = 1, .sl = 8, .port_num = 1 },
	.alt_port_num = 1,
	.alt_timeout = 9,
	.path_mig_state = IBV_MIG_REARM,
};

static void give_attrs(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = given;

	attr.qp_state = to;
	assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
}

TEST(query_tells_each_attribute)
{
	struct end *e = *state;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	give_attrs(e->qp, IBV_QPS_INIT, INIT);
	give_attrs(e->qp, IBV_QPS_RTR, RTR | IBV_QP_ALT_PATH);
	give_attrs(e->qp, IBV_QPS_RTS, RTS | IBV_QP_PATH_MIG_STATE);
	assert_int_equal(ibv_query_qp(e->qp, &attr, -1, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, IBV_QPS_RTS);
#define SAME(member) assert_int_equal(attr.member, given.member)
	SAME(qp_access_flags);
	SAME(port_num);
	SAME(path_mtu);
	SAME(dest_qp_num);
	SAME(rq_psn);
	SAME(sq_psn);
	SAME(max_dest_rd_atomic);
	SAME(max_rd_atomic);
	SAME(min_rnr_timer);
	SAME(timeout);
	SAME(retry_cnt);
	SAME(rnr_retry);
	SAME(alt_port_num);
	SAME(alt_timeout);
	SAME(path_mig_state);
#undef SAME
	assert_memory_equal(&attr.ah_attr, &given.ah_attr, sizeof(attr.ah_attr));
	assert_memory_equal(&attr.alt_ah_attr, &given.alt_ah_attr, sizeof(attr.ah_attr));
	assert_int_equal(attr.sq_draining, 0);
}

TEST(query_tells_how_it_was_created)
{
	struct end *e = *state;
	struct ibv_srq_init_attr shared = { .attr = { 1, 1, 0 } };
	struct ibv_qp_init_attr want = {
		.qp_context = &shared,
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { 3, 0, 2, 0, 17 },
	};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp;

	want.srq = ibv_create_srq(e->pd, &shared);
	init = want;
	qp = ibv_create_qp(e->pd, &init);
	assert_non_null(qp);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
	assert_memory_equal(&init, &want, sizeof(want));
	assert_memory_equal(&attr.cap, &want.cap, sizeof(want.cap));
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(want.srq), 0);
}

TEST(posts_depend_on_the_state)
{
	struct end *e = *state;

	assert_int_equal(recv_at(e, 1, 0, 1), EINVAL);
	assert_int_equal(send_at(e, 1, 0, 1), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(recv_at(e, 1, 0, 1), 0);
	assert_int_equal(send_at(e, 1, 0, 1), EINVAL);
	assert_int_equal(modify_state(e->qp, IBV_QPS_RTR, RTR), 0);
	assert_int_equal(send_at(e, 1, 0, 1), EINVAL);
}

enum { PKEY_PORT = IBV_QP_PKEY_INDEX | IBV_QP_PORT };

enum {
	PATH = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RESPONDER = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	REQUESTER = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* What ibv_modify_qp(3) and the kernel require of each transport. */
/* clang-format off */
static const struct way {
	enum ibv_qp_type	type;
	int			init, rtr, rts;
} ways[] = {
	{ IBV_QPT_RC, PKEY_PORT | IBV_QP_ACCESS_FLAGS, PATH | RESPONDER,
	  IBV_QP_SQ_PSN | REQUESTER },
	{ IBV_QPT_UC, PKEY_PORT | IBV_QP_ACCESS_FLAGS, PATH, IBV_QP_SQ_PSN },
	{ IBV_QPT_UD, PKEY_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN },
	{ IBV_QPT_XRC_SEND, PKEY_PORT | IBV_QP_ACCESS_FLAGS, PATH,
	  IBV_QP_SQ_PSN | REQUESTER },
	{ IBV_QPT_XRC_RECV, PKEY_PORT | IBV_QP_ACCESS_FLAGS, PATH | RESPONDER,
	  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT },
	{ IBV_QPT_RAW_PACKET, IBV_QP_PORT, 0, 0 },
};
/* clang-format on */

#define FOR_WAYS(way) for (way = ways; way < ways + sizeof(ways) / sizeof(ways[0]); way++)

static void expect_step(const struct way *way, enum ibv_qp_state from, enum ibv_qp_state to,
			int must)
{
	int bit;

	assert_true(qp_may_go(way->type, from, to, IBV_QP_STATE | must));
	for (bit = IBV_QP_CUR_STATE; bit <= IBV_QP_RATE_LIMIT; bit <<= 1)
		if (must & bit)
			assert_false(qp_may_go(way->type, from, to, must & ~bit));
	assert_false(qp_may_go(way->type, from, to, must | IBV_QP_CAP));
}

static bool may_in(enum ibv_qp_type type, enum ibv_qp_state state, int attr)
{
	return qp_may_go(type, state, state, attr);
}

TEST(error_is_reached_from_all_but_reset)
{
	struct end *e = *state;

	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), EINVAL);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
	assert_int_equal(modify_state(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
}

TEST_WITH(each_transport_needs_its_masks, NULL, NULL)
{
	const struct way *way;

	FOR_WAYS(way)
	{
		expect_step(way, IBV_QPS_RESET, IBV_QPS_INIT, way->init);
		expect_step(way, IBV_QPS_INIT, IBV_QPS_RTR, way->rtr);
		expect_step(way, IBV_QPS_RTR, IBV_QPS_RTS, way->rts);
		expect_step(way, IBV_QPS_RTS, IBV_QPS_SQD, 0);
		expect_step(way, IBV_QPS_SQD, IBV_QPS_RTS, 0);
	}
}

TEST_WITH(options_are_those_of_the_transport, NULL, NULL)
{
	const struct way *way;
	bool ud, responds;

	FOR_WAYS(way)
	{
		ud = way->type == IBV_QPT_UD;
		responds = way->type == IBV_QPT_RC || way->type == IBV_QPT_XRC_RECV;
		assert_int_equal(may_in(way->type, IBV_QPS_RTS, IBV_QP_QKEY), ud);
		assert_int_equal(may_in(way->type, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS),
				 !ud && way->type != IBV_QPT_RAW_PACKET);
		assert_int_equal(may_in(way->type, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER), responds);
		assert_int_equal(may_in(way->type, IBV_QPS_RTS, IBV_QP_RATE_LIMIT),
				 way->type == IBV_QPT_RAW_PACKET);
		assert_int_equal(may_in(way->type, IBV_QPS_SQD, IBV_QP_MAX_DEST_RD_ATOMIC),
				 responds);
		assert_int_equal(may_in(way->type, IBV_QPS_SQD, IBV_QP_RNR_RETRY),
				 way->type == IBV_QPT_RC || way->type == IBV_QPT_XRC_SEND);
		assert_false(may_in(way->type, IBV_QPS_RTR, IBV_QP_QKEY));
	}
}

TEST_WITH(only_the_unreliable_leave_sqe, NULL, NULL)
{
	const struct way *way;
	bool ud, uc, raw;

	FOR_WAYS(way)
	{
		ud = way->type == IBV_QPT_UD;
		uc = way->type == IBV_QPT_UC;
		raw = way->type == IBV_QPT_RAW_PACKET;
		assert_int_equal(qp_may_go(way->type, IBV_QPS_SQE, IBV_QPS_RTS, 0),
				 ud || uc || raw);
		assert_int_equal(qp_may_go(way->type, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_QKEY), ud);
		assert_int_equal(
			qp_may_go(way->type, IBV_QPS_SQE, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS), uc);
		assert_false(qp_may_go(way->type, IBV_QPS_RTS, IBV_QPS_SQE, 0));
	}
}
