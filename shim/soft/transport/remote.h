#pragma once
/*
 * The receiving end of a send request. The caller holds the lock of the send queue.
 */
#include "shim/soft/transport/objects.h"

struct soft_remote *remote_look_up(struct soft_qp *qp, const struct soft_wr *wr);

/* The receiving end of @wr; NULL: there is none. Valid until remote_drop(). */
static inline struct soft_remote *remote_find(struct soft_qp *qp, const struct soft_wr *wr)
{
	struct soft_remote *r = &qp->remote;

	return likely(r->shm && !r->xrc) ? r : remote_look_up(qp, wr);
}

/*
 * Lock the receiving end @r: its queue pair, and its shared queue. False, with nothing locked, if
 * its queue pair is not connected to @qp or not ready, or if a process that was delivering to it is
 * stopped (@r->stuck).
 */
bool remote_lock(struct soft_qp *qp, struct soft_remote *r);
/*
 * The same for the destination of a datagram: remote_resolve() finds queue pair @qpn for the empty
 * @r; remote_lock_datagram() locks it. The lock of the sender's send queue protects @r.
 */
bool remote_resolve(struct soft_remote *r, uint32_t qpn);
bool remote_lock_datagram(struct soft_qp *qp, struct soft_remote *r, uint32_t qpn);
void remote_forget(struct soft_remote *r);
/*
 * An XRC receive queue pair: find queue pair @qpn for the empty @r. remote_find_shared(): its
 * shared queue @srqn; @r itself if there is none; NULL if out of memory.
 */
bool remote_resolve_xrc(struct soft_remote *r, uint32_t qpn);
struct soft_remote *remote_find_shared(struct soft_remote *r, uint32_t srqn);
/*
 * Does the XRC queue pair accept the shared queue of @r? IBV_WC_SUCCESS, or a status for the
 * sender, which ends the connection. Callers hold the locks.
 */
int remote_check_xrc(const struct soft_remote *r);

/*
 * The receiver has no receive request: is it likely to post one soon? An unreliable sender waits a
 * short time for a receiver that has posted requests before: it may be waiting for a processor,
 * which on a real network it does not share with the sender. If a wait was not successful, the
 * sender does not wait again until the receiver has posted.
 */
bool remote_lags(struct soft_remote *r);

static inline void remote_unlock(struct soft_remote *r)
{
	if (r->srq)
		lock_drop(&r->srq->rq.lock);
	lock_drop(&r->shm->rq.lock);
}

/*
 * Forget the receiving end: the next request looks it up again. Also called on reset and
 * destruction.
 */
void remote_drop(struct soft_qp *qp);
