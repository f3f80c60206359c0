#pragma once
/*
 * Executing a send request at both ends. The caller holds the lock of the send queue.
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/transport/objects.h"

/* Execute @wr. Returns a completion status (enum ibv_wc_status), or CARRY_* of deliver.h. */
int execute_request(struct soft_qp *qp, struct soft_wr *wr);

/*
 * Make the requester's checks of @wr, and list its memory. IBV_WC_SUCCESS, or the status with which
 * it fails.
 */
int execute_check_local(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *list);

/* Make the responder of @wr fail, with @event, as if it had refused the request. */
void execute_fail_remote(struct soft_qp *qp, const struct soft_wr *wr, int event);

/*
 * Does the operation write to the requester's memory? Then it cannot be inline, and needs writable
 * memory.
 */
static inline bool execute_reads_back(uint32_t opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
