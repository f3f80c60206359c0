/*
 * Memory windows: the verbs for them
 *
 * Source: ibv_alloc_mw(3), ibv_bind_mw(3).
 *
 * Not here: the representation of a window, and its binding (window.c).
 */
#include "shim/soft/verbs/mw.h"

#include <stdlib.h>

#include "shim/soft/transport/own_qp.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/post.h"

struct ibv_mw *soft_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct soft_mw *mw;
	int err;

	err = soft_enter(pd->context, "alloc_mw");
	if (!err && type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		err = EINVAL;
	if (err)
		return soft_fail(err);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return soft_fail(ENOMEM);
	mw->mw.context = pd->context;
	mw->mw.pd = pd;
	mw->mw.type = type;
	err = window_add(mw);
	if (err < 0) {
		free(mw);
		return soft_fail(err);
	}
	__atomic_add_fetch(&to_pd(pd)->refs, 1, __ATOMIC_RELAXED);
	return &mw->mw;
}

int soft_dealloc_mw(struct ibv_mw *ibmw)
{
	struct soft_mw *mw = to_mw(ibmw);
	int err;

	err = soft_enter(ibmw->context, "dealloc_mw");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	err = own_qp_has_stuck_lock() ? ETIMEDOUT : 0;
	pthread_mutex_unlock(&soft_mutex);
	if (err)
		return err;
	window_remove(mw);
	__atomic_sub_fetch(&to_pd(ibmw->pd)->refs, 1, __ATOMIC_RELEASE);
	free(mw);
	return 0;
}

/*
 * Bind a window of type 1. The key in @mw changes only on success: programs restore it after a
 * failure.
 */
int soft_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = mw_bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = mw_bind->send_flags,
	};
	int err;

	err = soft_enter(mw->context, "bind_mw");
	if (err)
		return err;
	if (mw->type != IBV_MW_TYPE_1 || /* o10-36.2.2 */
	    mw_bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return EINVAL;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = mw_bind->bind_info;
	err = soft_post_send(qp, &wr, &bad);
	if (!err)
		mw->rkey = wr.bind_mw.rkey;
	return err;
}
