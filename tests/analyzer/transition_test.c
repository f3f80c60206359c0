/* The table of ibv_modify_qp(3). */
#include "analyzer/model/transition.h"

#include <infiniband/verbs.h>

#include "tests/test.h"

#define INIT_UD (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define INIT_RC (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_UC  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC  (RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_RC                                                                           \
	(IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_TIMEOUT)

static const struct step {
	const char *name;
	int type, from, to;
	uint32_t mask;
	uint32_t lacks, bars;
	bool none;
} steps[] = {
	{ "rc_reset_init", IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT, INIT_RC, 0, 0, false },
	{ "rc_init_rtr", IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, RTR_RC, 0, 0, false },
	{ "rc_rtr_rts", IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, RTS_RC, 0, 0, false },
	{ "uc_reset_init", IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT, INIT_RC, 0, 0, false },
	{ "uc_init_rtr", IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR, RTR_UC, 0, 0, false },
	{ "uc_rtr_rts", IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, 0, 0, false },
	{ "ud_reset_init", IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, INIT_UD, 0, 0, false },
	{ "ud_init_rtr", IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, 0, 0, 0, false },
	{ "ud_rtr_rts", IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN, 0, 0, false },
	{ "raw_reset_init", IBV_QPT_RAW_PACKET, IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PORT, 0, 0,
	  false },
	{ "raw_init_rtr", IBV_QPT_RAW_PACKET, IBV_QPS_INIT, IBV_QPS_RTR, 0, 0, 0, false },
	{ "raw_rtr_rts", IBV_QPT_RAW_PACKET, IBV_QPS_RTR, IBV_QPS_RTS, 0, 0, 0, false },
	{ "rnr_retry_lacks", IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS, RTS_RC & ~IBV_QP_RNR_RETRY,
	  IBV_QP_RNR_RETRY, 0, false },
	{ "all_lacks", IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, 0, RTR_RC, 0, false },
	{ "qkey_lacks_and_access_is_barred", IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT, INIT_RC,
	  IBV_QP_QKEY, IBV_QP_ACCESS_FLAGS, false },
	{ "timeout_is_too_early", IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR, RTR_RC | IBV_QP_TIMEOUT, 0,
	  IBV_QP_TIMEOUT, false },
	{ "uc_has_no_retries", IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, RTS_RC, 0,
	  RTS_RC & ~IBV_QP_SQ_PSN, false },
	{ "err_has_no_attributes", IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QP_TIMEOUT, 0,
	  IBV_QP_TIMEOUT, false },
	{ "reset_rtr_is_none", IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_RTR, RTR_RC, 0, 0, true },
	{ "init_rts_is_none", IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTS, RTS_RC, 0, 0, true },
	{ "err_rts_is_none", IBV_QPT_RC, IBV_QPS_ERR, IBV_QPS_RTS, RTS_RC, 0, 0, true },
	{ "err_init_is_none", IBV_QPT_RC, IBV_QPS_ERR, IBV_QPS_INIT, INIT_RC, 0, 0, true },
	{ "reset_err_is_none", IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_ERR, 0, 0, 0, true },
	{ "rc_has_no_sqe", IBV_QPT_RC, IBV_QPS_SQE, IBV_QPS_RTS, 0, 0, 0, true },
	{ "rts_err", IBV_QPT_RC, IBV_QPS_RTS, IBV_QPS_ERR, 0, 0, 0, false },
	{ "err_err", IBV_QPT_RC, IBV_QPS_ERR, IBV_QPS_ERR, 0, 0, 0, false },
	{ "err_reset", IBV_QPT_UD, IBV_QPS_ERR, IBV_QPS_RESET, 0, 0, 0, false },
	{ "ud_sqe_rts", IBV_QPT_UD, IBV_QPS_SQE, IBV_QPS_RTS, 0, 0, 0, false },
	{ "xrc_recv_ignores_the_other_side", IBV_QPT_XRC_RECV, IBV_QPS_RTR, IBV_QPS_RTS, RTS_RC, 0,
	  0, false },
	{ "xrc_send_ignores_the_other_side", IBV_QPT_XRC_SEND, IBV_QPS_INIT, IBV_QPS_RTR, RTR_RC, 0,
	  0, false },
	{ "driver_is_not_known", IBV_QPT_DRIVER, IBV_QPS_RESET, IBV_QPS_RTS, 0, 0, 0, false },
	{ "from_an_unknown_state", IBV_QPT_RC, -1, IBV_QPS_RTS, 0, 0, 0, false },
};

static void step_needs_and_allows(void **state)
{
	const struct step *row = *state;
	struct transition_fault fault = { 0 };
	bool may =
		transition_check(row->type, row->from, row->to, row->mask | IBV_QP_STATE, &fault);

	assert_int_equal(may, !row->lacks && !row->bars && !row->none);
	assert_int_equal(fault.none, row->none);
	assert_int_equal(fault.lacks, row->lacks);
	assert_int_equal(fault.bars, row->bars);
}

TEST_ROWS(steps, step_needs_and_allows);

TEST(attributes_have_names)
{
	char text[128];

	assert_string_equal(
		transition_list_attributes(IBV_QP_TIMEOUT | IBV_QP_RNR_RETRY, text, 128),
		"IBV_QP_TIMEOUT, IBV_QP_RNR_RETRY");
	assert_string_equal(transition_list_attributes(1u << 30, text, 128), "0x40000000");
	assert_string_equal(transition_list_attributes(0, text, 128), "");
}
