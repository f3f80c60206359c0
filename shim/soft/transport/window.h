#pragma once
/*
 * Memory windows: parts of regions, with rights and keys of their own.
 */
#include "shim/soft/transport/objects.h"

/* Give it a slot and keys of its own, not yet bound. 0 or -ENOMEM. */
int window_add(struct soft_mw *mw);
/* Wait until nobody uses it, and free its slot. */
void window_remove(struct soft_mw *mw);
void window_close_all(struct ibv_context *context);

/*
 * Store what to bind in the request @wr. 0 or EINVAL; everything else is checked when it is carried
 * out (IBV_WC_MW_BIND_ERR).
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

/* Unbind the windows that were bound on a queue pair, which is reset. */
void window_reset_qp(struct soft_qp *qp);

/*
 * Take the rkey of a region away, so that no window can be bound to it. EBUSY, with nothing
 * changed, if one is bound.
 */
int window_release_region(struct shm_mr *region);

/* In a child: nobody holds the lock. */
void window_forget(void);
