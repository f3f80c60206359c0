/*
 * Completion counters: a successful request adds 1 or its bytes, a failed one adds an error
 *
 * Source: ibv_create_comp_cntr(3), ibv_qp_attach_comp_cntr(3).
 */
#include "shim/soft/transport/count.h"

#include <infiniband/verbs.h>

void count_traffic(struct shm_seg *seg, const struct shm_qp *qp, enum shm_counter_bit what,
		   int status, uint64_t bytes)
{
	uint32_t slot = __atomic_load_n(&qp->counter[what], __ATOMIC_RELAXED);
	struct shm_comp_cntr *counter;

	if (!slot || slot > SHM_COMP_CNTR_MAX) /* no counter, or the peer's segment is damaged */
		return;
	counter = &seg->comp_cntr[slot - 1];
	/* pairs with the load of read_value(): a reader of the count also sees the data */
	if (status != IBV_WC_SUCCESS)
		__atomic_add_fetch(&counter->errors, 1, __ATOMIC_RELEASE);
	else
		__atomic_add_fetch(&counter->done, counter->bytes ? bytes : 1, __ATOMIC_RELEASE);
}
