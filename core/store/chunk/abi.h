#pragma once
/*
 * The numbers of <infiniband/verbs.h> that the store's own code depends on; it
 * knows all others only by name (core/wire/desc.h). They are part of a binary
 * interface and never change.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/model/operation.h"

enum abi {
	ABI_WC_SUCCESS = 0,
	ABI_WC_LOC_LEN_ERR = 1,
	ABI_WC_RECV = 1 << 7,     /* bit of the opcode: on the receive side */
	ABI_WC_WITH_INV = 1 << 3, /* bit of wc_flags: imm_data has an rkey */
	ABI_WC_WR_FLUSH_ERR = 5,
	/*
	 * only requesters have these statuses, with one exception: InfiniBand specification,
	 * 11.6.2
	 */
	ABI_WC_MW_BIND_ERR = 6,
	ABI_WC_BAD_RESP_ERR = 7,
	/* the exception: a receive gets it for a write with immediate data */
	ABI_WC_LOC_ACCESS_ERR = 8,
	ABI_WC_REM_ACCESS_ERR = 10,
	ABI_WC_REM_OP_ERR = 11,
	ABI_WC_RETRY_EXC_ERR = 12,
	ABI_WC_RNR_RETRY_EXC_ERR = 13,
	ABI_WC_TM_ERR = 22,
	ABI_WC_TM_RNDV_INCOMPLETE = 23,
	ABI_WC_TM_ADD = 130, /* opcodes */
	ABI_WC_TM_DEL = 131,
	ABI_WC_TM_SYNC = 132,
	ABI_WC_TM_RECV = 133,
	ABI_WC_TM_MATCH = 1 << 5, /* bits of wc_flags */
	ABI_WC_TM_DATA_VALID = 1 << 6,
	ABI_CQ_WITH_QP_NUM = 1 << 2, /* bit of wc_flags of struct ibv_cq_init_attr_ex */
	ABI_SEND_SIGNALED = 1 << 1,
	ABI_QPT_UD = 4,
	ABI_QPS_RESET = 0,
	ABI_WQS_RESET = 0,
};

/*
 * Does the completion belong to a tag matching list, or to a buffer in it? Buffers are added to the
 * list by ibv_post_srq_ops(), which is not a post: there is no request for it.
 */
static inline bool abi_is_of_tags(uint32_t status, uint32_t opcode, uint32_t wc_flags)
{
	if (status != ABI_WC_SUCCESS)
		return status == ABI_WC_TM_ERR || status == ABI_WC_TM_RNDV_INCOMPLETE;
	return (opcode >= ABI_WC_TM_ADD && opcode <= ABI_WC_TM_SYNC) ||
	       (opcode == ABI_WC_TM_RECV && wc_flags & (ABI_WC_TM_MATCH | ABI_WC_TM_DATA_VALID));
}
