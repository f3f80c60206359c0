#pragma once
/*
 * Carrying out a send request at both ends. The caller holds the lock of
 * the send queue.
 */
#include "shim/soft/transport/objects.h"

/* A completion status (enum ibv_wc_status), or CARRY_* of deliver.h. */
int carry_request(struct soft_qp *qp, struct soft_wr *wr);

/* The responder of @wr refuses it unasked: it fails, with @event. */
void carry_fail_remote(struct soft_qp *qp, const struct soft_wr *wr, int event);

/* What is read comes back: not inline, and into memory that is writable. */
static inline bool carry_reads_back(uint32_t opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
