#pragma once
/*
 * Memory windows: parts of regions, with rights and keys of their own.
 */
#include "shim/soft/transport/soft.h"

/*
 * What is to be bound, for when the request @wr is carried out. 0 or EINVAL;
 * all else is found out then (IBV_WC_MW_BIND_ERR).
 */
int mw_set(struct soft_wr *wr, struct ibv_mw *mw, uint32_t rkey,
	   const struct ibv_mw_bind_info *info);

/*
 * Carry out IBV_WR_BIND_MW or IBV_WR_LOCAL_INV, under the lock of the send
 * queue. Returns enum ibv_wc_status.
 */
int mw_carry(struct soft_qp *qp, const struct soft_wr *wr);

/*
 * Invalidate the window of type 2 that was bound with @rkey on queue pair @qp
 * of @seg, under its lock. False if there is none.
 */
bool mw_invalidate(struct shm_seg *seg, const struct shm_qp *qp, uint32_t rkey);

/* The queue pair is reset: so are the windows that were bound on it. */
void mw_reset(struct soft_qp *qp);

/*
 * Let no window be bound to a region any more: its rkey is gone. EBUSY, and
 * nothing has changed, if one is bound.
 */
int mw_release_region(struct shm_mr *region);

/* In a child: nobody holds the lock. */
void mw_forget(void);
