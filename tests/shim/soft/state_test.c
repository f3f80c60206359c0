#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
	};

	return cmocka_run_group_tests(tests, fabric_setup, fabric_teardown);
}
