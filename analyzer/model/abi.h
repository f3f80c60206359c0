#pragma once
/*
 * The numbers of <infiniband/verbs.h> that the analyzer depends on; it knows all others only by
 * name (core/wire/desc.h). They are part of a binary interface and never change;
 * tests/analyzer/abi_test.c compares them with the header.
 */
#include "core/store/chunk/abi.h"

/* X(number, name) for ABI_name, which is IBV_name in the header */
/* clang-format off */
#define EACH_ABI(X)                                                                              \
	X(2, QPT_RC) X(3, QPT_UC) X(8, QPT_RAW_PACKET) X(9, QPT_XRC_SEND)           \
	X(10, QPT_XRC_RECV) X(255, QPT_DRIVER)                                                   \
	X(1, QPS_INIT) X(2, QPS_RTR) X(3, QPS_RTS) X(4, QPS_SQD) X(5, QPS_SQE) X(6, QPS_ERR)     \
	X(1, WQS_RDY) X(2, WQS_ERR) X(1 << 0, WQ_ATTR_STATE)                                 \
	X(1 << 0, SRQ_MAX_WR) X(1 << 1, SRQ_LIMIT)                                               \
	X(1 << 0, QP_STATE) X(1 << 1, QP_CUR_STATE) X(1 << 2, QP_EN_SQD_ASYNC_NOTIFY)            \
	X(1 << 3, QP_ACCESS_FLAGS) X(1 << 4, QP_PKEY_INDEX) X(1 << 5, QP_PORT) X(1 << 6, QP_QKEY) \
	X(1 << 7, QP_AV) X(1 << 8, QP_PATH_MTU) X(1 << 9, QP_TIMEOUT) X(1 << 10, QP_RETRY_CNT)   \
	X(1 << 11, QP_RNR_RETRY) X(1 << 12, QP_RQ_PSN) X(1 << 13, QP_MAX_QP_RD_ATOMIC)           \
	X(1 << 14, QP_ALT_PATH) X(1 << 15, QP_MIN_RNR_TIMER) X(1 << 16, QP_SQ_PSN)               \
	X(1 << 17, QP_MAX_DEST_RD_ATOMIC) X(1 << 18, QP_PATH_MIG_STATE) X(1 << 19, QP_CAP)       \
	X(1 << 20, QP_DEST_QPN) X(1 << 25, QP_RATE_LIMIT)                                        \
	X(1 << 0, WC_GRH) X(1 << 0, SEND_FENCE) X(1 << 2, SEND_SOLICITED) X(1 << 3, SEND_INLINE) \
	X(1 << 4, ACCESS_MW_BIND) X(1 << 5, ACCESS_ZERO_BASED)                                   \
	X(1 << 6, ACCESS_ON_DEMAND) X(1 << 20, ACCESS_RELAXED_ORDERING)                          \
	X(1 << 0, REREG_MR_CHANGE_TRANSLATION) X(1 << 1, REREG_MR_CHANGE_PD)                     \
	X(1 << 2, REREG_MR_CHANGE_ACCESS)                                                        \
	X(1 << 0, QP_INIT_ATTR_PD) X(1 << 1, QP_INIT_ATTR_XRCD)                                  \
	X(1 << 1, SRQ_INIT_ATTR_PD) X(1 << 2, SRQ_INIT_ATTR_XRCD) X(1 << 3, SRQ_INIT_ATTR_CQ)    \
	X(0x7f, WC_STANDARD_FLAGS) X(2, WC_LOC_QP_OP_ERR) X(4, WC_LOC_PROT_ERR)                  \
	X(9, WC_REM_INV_REQ_ERR) X(19, WC_FATAL_ERR) X(20, WC_RESP_TIMEOUT_ERR)                  \
	X(21, WC_GENERAL_ERR)                                                                    \
	X(0, EVENT_CQ_ERR) X(1, EVENT_QP_FATAL) X(2, EVENT_QP_REQ_ERR) X(3, EVENT_QP_ACCESS_ERR) \
	X(8, EVENT_DEVICE_FATAL) X(9, EVENT_PORT_ACTIVE) X(10, EVENT_PORT_ERR)                   \
	X(11, EVENT_LID_CHANGE) X(12, EVENT_PKEY_CHANGE) X(18, EVENT_GID_CHANGE)                 \
	X(14, EVENT_SRQ_ERR) X(16, EVENT_QP_LAST_WQE_REACHED)           \
	X(19, EVENT_WQ_FATAL)                                                                    \
	X(0, GID_TYPE_IB) X(1, GID_TYPE_ROCE_V1) X(2, GID_TYPE_ROCE_V2)                          \
	X(1, LINK_LAYER_INFINIBAND) X(2, LINK_LAYER_ETHERNET)
/* clang-format on */

enum abi_more {
#define ABI_NUMBER(number, name) ABI_##name = (number),
	EACH_ABI(ABI_NUMBER)
#undef ABI_NUMBER
};
