#pragma once
/*
 * Memory windows: parts of regions, with rights and keys of their own.
 */
#include "shim/soft/transport/objects.h"

/* Give it a slot and keys of its own, not yet bound. 0 or -ENOMEM. */
int window_add(struct soft_mw *mw);
/* Nobody uses it any more, nor finds it. */
void window_remove(struct soft_mw *mw);
void window_close_all(struct ibv_context *context);

/*
 * What is to be bound, for when the request @wr is carried out. 0 or EINVAL;
 * all else is found out then (IBV_WC_MW_BIND_ERR).
 */
int window_set_bind(struct soft_wr *wr, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info);

/*
 * Carry out IBV_WR_BIND_MW or IBV_WR_LOCAL_INV, under the lock of the send
 * queue. Returns enum ibv_wc_status.
 */
int window_carry(struct soft_qp *qp, const struct soft_wr *wr);

/*
 * Invalidate the window of type 2 that was bound with @rkey on queue pair @qp
 * of @seg, under its lock. False if there is none.
 */
bool window_invalidate(struct shm_seg *seg, const struct shm_qp *qp, uint32_t rkey);

/* The queue pair is reset: so are the windows that were bound on it. */
void window_reset_qp(struct soft_qp *qp);

/*
 * Let no window be bound to a region any more: its rkey is gone. EBUSY, and
 * nothing has changed, if one is bound.
 */
int window_release_region(struct shm_mr *region);

/* In a child: nobody holds the lock. */
void window_forget(void);
