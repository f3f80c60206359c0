#pragma once
/*
 * Posting send requests: shared by classic posts and builders.
 */
#include <errno.h>

#include "shim/soft/transport/sq.h"

/* May requests be posted in the state of @qp? 0 or EINVAL. */
static inline int post_check_state(const struct soft_qp *qp)
{
	enum ibv_qp_state state = __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);

	return state < IBV_QPS_RTS || state == IBV_QPS_UNKNOWN || !qp->sq.wrs ? EINVAL : 0;
}

/* The opcodes (enum ibv_wr_opcode) that a queue pair of @type can post, as bits. */
uint32_t post_opcodes(enum ibv_qp_type type);

/* Begin a request, which has no data and is not inline. */
static inline void post_begin(const struct soft_qp *qp, struct soft_wr *wr, uint64_t wr_id,
			      uint32_t opcode, uint32_t flags)
{
	wr->wr_id = wr_id;
	wr->opcode = opcode;
	wr->flags = (flags & ~(IBV_SEND_INLINE | SQ_REFERENCES_AH)) |
		    (qp->init.sq_sig_all ? IBV_SEND_SIGNALED : 0);
	wr->num_sge = 0;
	wr->length = 0;
	wr->imm = 0;
}

/*
 * Set the data of a request: an SGE list, or inline data piece by piece. 0, or EINVAL if the data
 * is too long.
 */
static inline int post_set_sge(const struct soft_qp *qp, struct soft_wr *wr,
			       const struct ibv_sge *sge, uint64_t num)
{
	uint64_t length = 0;
	uint32_t i;

	if (num > qp->init.cap.max_send_sge)
		return EINVAL;
	for (i = 0; i < num; i++) {
		wr->sge[i] = sge[i];
		length += sge[i].length;
	}
	wr->num_sge = num;
	wr->length = length < UINT32_MAX ? length : UINT32_MAX;
	return 0;
}

int post_add_inline(const struct soft_qp *qp, struct soft_wr *wr, const void *data,
		    uint64_t length);

int soft_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
