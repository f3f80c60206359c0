#pragma once
/*
 * Memory windows: parts of regions, with separate rights and keys.
 */
#include "shim/soft/transport/objects.h"

/* Give the window a slot and keys; it is not bound yet. 0 or -ENOMEM. */
int window_add(struct soft_mw *mw);
/* Wait until no request uses the window, and free its slot. */
void window_remove(struct soft_mw *mw);
void window_close_all(struct ibv_context *context);

/*
 * Store the bind in request @wr. 0 or EINVAL; all other checks are made when the request is
 * executed (IBV_WC_MW_BIND_ERR).
 */
int window_set_bind(struct soft_wr *wr, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info);

/*
 * Execute IBV_WR_BIND_MW or IBV_WR_LOCAL_INV, Callers hold the lock of the send queue. Returns an
 * enum ibv_wc_status.
 */
int window_execute(struct soft_qp *qp, const struct soft_wr *wr);

/*
 * Invalidate the window of type 2 that was bound with @rkey on queue pair @qp of @seg. Callers hold
 * the lock of @qp. False if there is no such window.
 */
bool window_invalidate(struct shm_seg *seg, const struct shm_qp *qp, uint32_t rkey);

/* Unbind the windows that are bound on @qp, which is reset. */
void window_reset_qp(struct soft_qp *qp);

/*
 * Remove the rkey of a region, so that no window can be bound to it. 0; EBUSY, with nothing
 * changed, if a window is bound.
 */
int window_release_region(struct shm_mr *region);

/* In a child: no thread holds the lock. */
void window_forget(void);
