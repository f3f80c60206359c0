#pragma once
/*
 * Completion counters: which of them a finished request adds to.
 *
 * A counter lies in the segment of its owner, where peers that carry out requests add to it.
 */
#include "shim/soft/fabric/shared.h"

/* The slow way of count_request(): the queue pair has counters. */
void count_in(struct shm_seg *seg, const struct shm_qp *qp, enum shm_counted what, int status,
	      uint64_t bytes);

/*
 * A request of kind @what is done at @qp, which lies in @seg, with a status of enum ibv_wc_status.
 * Any thread; counters are atomic.
 */
static inline void count_request(struct shm_seg *seg, const struct shm_qp *qp,
				 enum shm_counted what, int status, uint64_t bytes)
{
	if (__builtin_expect(qp->counted, 0))
		count_in(seg, qp, what, status, bytes);
}
