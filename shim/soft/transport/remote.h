#pragma once
/*
 * The other end of a send request. The caller holds the lock of the send queue.
 */
#include "shim/soft/transport/objects.h"

struct soft_remote *remote_look_up(struct soft_qp *qp, const struct soft_wr *wr);

/* The receiver of @wr, or NULL if there is none. Valid until remote_drop(). */
static inline struct soft_remote *remote_find(struct soft_qp *qp, const struct soft_wr *wr)
{
	struct soft_remote *r = &qp->remote;

	return likely(r->shm && !r->xrc) ? r : remote_look_up(qp, wr);
}

/*
 * Lock the other end: its queue pair, and its shared queue in @r. False, with nothing locked, if
 * the other end is not connected to @qp or not ready, or if a process that delivers to it is
 * stopped (@r->stuck).
 */
bool remote_lock(struct soft_qp *qp, struct soft_remote *r);
/*
 * The same for the destination of a datagram: find queue pair @qpn for @r, which is empty; lock it.
 * Protected by the lock of the sender's send queue.
 */
bool remote_resolve(struct soft_remote *r, uint32_t qpn);
bool remote_lock_datagram(struct soft_qp *qp, struct soft_remote *r, uint32_t qpn);
void remote_forget(struct soft_remote *r);
/*
 * An XRC receive queue pair: find queue pair @qpn for @r, which is empty; then the shared queue
 * @srqn for requests to it: @r itself if there is none, NULL if memory is exhausted.
 */
bool remote_resolve_xrc(struct soft_remote *r, uint32_t qpn);
struct soft_remote *remote_find_shared(struct soft_remote *r, uint32_t srqn);
/*
 * Does the XRC queue pair accept the given shared queue? If not, a status for the sender, which
 * breaks the connection; with the locks held.
 */
int remote_check_xrc(const struct soft_remote *r);

/*
 * The receiver has no receive request: is one likely to come? An unreliable sender waits a short
 * time for a receiver that has posted some before: it may only be waiting for a processor, which on
 * a real network it would not share with the sender. After one wait in vain there is no further
 * wait until the receiver posts again.
 */
bool remote_lags(struct soft_remote *r);

static inline void remote_unlock(struct soft_remote *r)
{
	if (r->srq)
		lock_drop(&r->srq->rq.lock);
	lock_drop(&r->shm->rq.lock);
}

/* Forget the other end: the next request looks it up again. Also for reset and destruction. */
void remote_drop(struct soft_qp *qp);
