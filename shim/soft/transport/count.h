#pragma once
/*
 * Completion counters: counting finished requests.
 *
 * A counter is in the segment of its owner, where peers that execute requests add to it.
 */
#include "shim/soft/fabric/shared.h"

/* The slow path of count_request(): the queue pair has counters. */
void count_traffic(struct shm_seg *seg, const struct shm_qp *qp, enum shm_counter_bit what,
		   int status, uint64_t bytes);

/*
 * A request of kind @what has completed on @qp of @seg, with @status, enum ibv_wc_status. Any
 * thread; counters are atomic.
 */
static inline void count_request(struct shm_seg *seg, const struct shm_qp *qp,
				 enum shm_counter_bit what, int status, uint64_t bytes)
{
	if (__builtin_expect(qp->counted, 0))
		count_traffic(seg, qp, what, status, bytes);
}
