#pragma once
/*
 * Shared receive queues: what those who deliver need.
 */
#include "shim/soft/transport/soft.h"

/*
 * The queue of @seg has reached its limit: tell its owner, once. Under its
 * lock.
 */
void srq_tell_limit(struct shm_seg *seg, struct shm_srq *srq);

/* It can complete nothing any more: SRQ_ERR, once. Under its lock. */
void srq_fail(struct shm_seg *seg, struct shm_srq *srq);
