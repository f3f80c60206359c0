#pragma once
/*
 * Carrying out a send request at both ends. The caller holds the lock of
 * the send queue.
 */
#include "shim/soft/soft.h"

/* Instead of a completion status. */
enum {
	CARRY_RNR	= -1,	/* the peer has no receive request */
	CARRY_NO_PEER	= -2,	/* nobody answers */
};

/* The completion status (enum ibv_wc_status), or one of the above. */
int carry(struct soft_qp *qp, struct soft_wr *wr);

/*
 * Bring a queue pair of @seg to the error state and flush what was posted
 * to its receive queue; under its lock. @event is for its owner, or -1.
 */
void carry_fail(struct shm_seg *seg, uint32_t index, struct rq *rq,
		struct cqring *cq, int event);
