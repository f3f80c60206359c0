#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/soft/qp.h"
#include "tests/shim/soft/pair.h"

#define GIVEN(name)	struct end *name = *state

static int setup(void **state)
{
	struct end *e = calloc(1, sizeof(*e));

	end_open(e);
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	end_close(*state);
	free(*state);
	return 0;
}

enum {
	INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       IBV_QP_ACCESS_FLAGS,
	RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
	      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
	      IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

static const struct ibv_qp_attr good = {
	.port_num = 1, .path_mtu = IBV_MTU_1024,
	.ah_attr = { .dlid = 1, .port_num = 1 },
	.timeout = 8,
};

static int modify(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = good;

	attr.qp_state = to;
	return ibv_modify_qp(qp, &attr, mask);
}

/* Each bit of @mask is needed, and none beside it may be given. */
static void expect_mask(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	int bit;

	for (bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if (mask & bit)
			assert_int_equal(modify(qp, to, mask & ~bit), EINVAL);
	assert_int_equal(modify(qp, to, mask | IBV_QP_QKEY), EINVAL);
	assert_int_equal(modify(qp, to, mask | IBV_QP_CAP), EINVAL);
	assert_int_equal(modify(qp, to, mask), 0);
	assert_int_equal(state_of(qp), to);
	assert_int_equal(qp->state, to);
}

static void each_step_needs_its_mask(void **state)
{
	GIVEN(e);

	assert_int_equal(state_of(e->qp), IBV_QPS_RESET);
	expect_mask(e->qp, IBV_QPS_INIT, INIT);
	expect_mask(e->qp, IBV_QPS_RTR, RTR);
	expect_mask(e->qp, IBV_QPS_RTS, RTS);
	expect_mask(e->qp, IBV_QPS_SQD, IBV_QP_STATE);
	expect_mask(e->qp, IBV_QPS_RTS, IBV_QP_STATE);
	expect_mask(e->qp, IBV_QPS_ERR, IBV_QP_STATE);
	expect_mask(e->qp, IBV_QPS_RESET, IBV_QP_STATE);
}

static void steps_are_not_skipped(void **state)
{
	GIVEN(e);

	assert_int_equal(modify(e->qp, IBV_QPS_RTR, RTR), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_SQD, IBV_QP_STATE), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_SQE, IBV_QP_STATE), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(modify(e->qp, IBV_QPS_RTS, RTS), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_ERR, IBV_QP_STATE), 0);
	assert_int_equal(modify(e->qp, IBV_QPS_INIT, INIT), EINVAL);
}

static void values_are_checked(void **state)
{
	GIVEN(e);
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

static void claimed_state_must_be_true(void **state)
{
	GIVEN(e);
	struct ibv_qp_attr attr = good;

	assert_int_equal(modify(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(modify(e->qp, IBV_QPS_RTR, RTR), 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_INIT;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTS | IBV_QP_CUR_STATE),
			 EINVAL);
	attr.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e->qp, &attr, RTS | IBV_QP_CUR_STATE), 0);
}

static void query_tells_what_was_given(void **state)
{
	GIVEN(e);
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

static void posts_depend_on_the_state(void **state)
{
	GIVEN(e);

	assert_int_equal(recv_at(e, 1, 0, 1), EINVAL);
	assert_int_equal(send_at(e, 1, 0, 1), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(recv_at(e, 1, 0, 1), 0);
	assert_int_equal(send_at(e, 1, 0, 1), EINVAL);
	assert_int_equal(modify(e->qp, IBV_QPS_RTR, RTR), 0);
	assert_int_equal(send_at(e, 1, 0, 1), EINVAL);
}

enum { PKEY_PORT = IBV_QP_PKEY_INDEX | IBV_QP_PORT };

enum {
	PATH = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RESPONDER = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	REQUESTER = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		    IBV_QP_MAX_QP_RD_ATOMIC,
};

/* What ibv_modify_qp(3) and the kernel require of each transport. */
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

#define FOR_WAYS(way) \
	for (way = ways; way < ways + sizeof(ways) / sizeof(ways[0]); way++)

static void expect_step(const struct way *way, enum ibv_qp_state from,
			enum ibv_qp_state to, int must)
{
	int bit;

	assert_true(qp_may_go(way->type, from, to, IBV_QP_STATE | must));
	for (bit = IBV_QP_CUR_STATE; bit <= IBV_QP_RATE_LIMIT; bit <<= 1)
		if (must & bit)
			assert_false(qp_may_go(way->type, from, to, must & ~bit));
	assert_false(qp_may_go(way->type, from, to, must | IBV_QP_CAP));
}

static void each_transport_needs_its_masks(void **state)
{
	const struct way *way;

	(void)state;
	FOR_WAYS(way) {
		expect_step(way, IBV_QPS_RESET, IBV_QPS_INIT, way->init);
		expect_step(way, IBV_QPS_INIT, IBV_QPS_RTR, way->rtr);
		expect_step(way, IBV_QPS_RTR, IBV_QPS_RTS, way->rts);
		expect_step(way, IBV_QPS_RTS, IBV_QPS_SQD, 0);
		expect_step(way, IBV_QPS_SQD, IBV_QPS_RTS, 0);
	}
}

static bool may_in(enum ibv_qp_type type, enum ibv_qp_state state, int attr)
{
	return qp_may_go(type, state, state, attr);
}

static void options_are_those_of_the_transport(void **state)
{
	const struct way *way;
	bool ud, responds;

	(void)state;
	FOR_WAYS(way) {
		ud = way->type == IBV_QPT_UD;
		responds = way->type == IBV_QPT_RC ||
			way->type == IBV_QPT_XRC_RECV;
		assert_int_equal(may_in(way->type, IBV_QPS_RTS, IBV_QP_QKEY),
				 ud);
		assert_int_equal(may_in(way->type, IBV_QPS_RTS,
					IBV_QP_ACCESS_FLAGS),
				 !ud && way->type != IBV_QPT_RAW_PACKET);
		assert_int_equal(may_in(way->type, IBV_QPS_RTS,
					IBV_QP_MIN_RNR_TIMER), responds);
		assert_int_equal(may_in(way->type, IBV_QPS_RTS,
					IBV_QP_RATE_LIMIT),
				 way->type == IBV_QPT_RAW_PACKET);
		assert_int_equal(may_in(way->type, IBV_QPS_SQD,
					IBV_QP_MAX_DEST_RD_ATOMIC), responds);
		assert_int_equal(may_in(way->type, IBV_QPS_SQD, IBV_QP_RNR_RETRY),
				 way->type == IBV_QPT_RC ||
				 way->type == IBV_QPT_XRC_SEND);
		assert_false(may_in(way->type, IBV_QPS_RTR, IBV_QP_QKEY));
	}
}

static void only_the_unreliable_leave_sqe(void **state)
{
	const struct way *way;
	bool ud, uc, raw;

	(void)state;
	FOR_WAYS(way) {
		ud = way->type == IBV_QPT_UD;
		uc = way->type == IBV_QPT_UC;
		raw = way->type == IBV_QPT_RAW_PACKET;
		assert_int_equal(qp_may_go(way->type, IBV_QPS_SQE, IBV_QPS_RTS,
					   0), ud || uc || raw);
		assert_int_equal(qp_may_go(way->type, IBV_QPS_SQE, IBV_QPS_RTS,
					   IBV_QP_QKEY), ud);
		assert_int_equal(qp_may_go(way->type, IBV_QPS_SQE, IBV_QPS_RTS,
					   IBV_QP_ACCESS_FLAGS), uc);
		assert_false(qp_may_go(way->type, IBV_QPS_RTS, IBV_QPS_SQE, 0));
	}
}

static void error_is_reached_from_all_but_reset(void **state)
{
	GIVEN(e);

	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), EINVAL);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
	assert_int_equal(modify(e->qp, IBV_QPS_INIT, INIT), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_ERR), 0);
	assert_int_equal(to_state(e->qp, IBV_QPS_RESET), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_step_needs_its_mask),
		TEST(steps_are_not_skipped),
		TEST(values_are_checked),
		TEST(claimed_state_must_be_true),
		TEST(query_tells_what_was_given),
		TEST(posts_depend_on_the_state),
		TEST(error_is_reached_from_all_but_reset),
		cmocka_unit_test(each_transport_needs_its_masks),
		cmocka_unit_test(options_are_those_of_the_transport),
		cmocka_unit_test(only_the_unreliable_leave_sqe),
	};

	return cmocka_run_group_tests(tests, fabric_setup, fabric_teardown);
}
