/*
 * The other end: queue pair number -> process -> slot in its segment
 *
 * It is looked up once, with all that is needed to deliver there, and
 * checked at each request, under its lock: is it still the queue pair that
 * we were told to talk to, connected to us, and ready?
 */
#include "shim/soft/remote.h"

#include <errno.h>

#include "shim/soft/port_state.h"

void remote_forget(struct soft_remote *r)
{
	fabric_put(r->peer);
	memset(r, 0, sizeof(*r));
}

void remote_drop(struct soft_qp *qp)
{
	remote_forget(&qp->remote);
}

static int find_queues(struct soft_remote *r)
{
	struct shm_seg *seg = r->peer->seg;
	uint32_t srq = r->shm->srq;
	int err;

	r->pd = r->shm->pd;
	err = cqring_find(seg, r->shm->recv_cq, &r->cq);
	if (err < 0)
		return err;
	if (!srq) {
		r->rq_pd = r->pd;
		return rq_find(seg, &r->shm->rq, &r->rq);
	}
	if (srq > SHM_SRQ_MAX)
		return -EPROTO;
	r->srq = &seg->srq[srq - 1];
	r->rq_pd = r->srq->pd;
	return rq_find(seg, &r->srq->rq, &r->rq);
}

bool remote_resolve(struct soft_remote *r, uint32_t qpn)
{
	uint32_t index;

	if (fabric_find(qpn, &r->peer, &index) < 0)
		return false;
	r->shm = &r->peer->seg->qp[index];
	r->resets = __atomic_load_n(&r->shm->resets, __ATOMIC_ACQUIRE);
	if (find_queues(r) < 0) {
		remote_forget(r);
		return false;
	}
	return true;
}

struct soft_remote *remote_find(struct soft_qp *qp, const struct soft_wr *wr)
{
	struct soft_remote *r = &qp->remote;

	(void)wr;
	if (likely(r->shm))
		return r;
	return qp->reachable && remote_resolve(r, qp->shm->dest_qpn) ? r : NULL;
}

static uint8_t receives_from(uint8_t type)
{
	return type == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : type;
}

/* By a fault on demand. */
static bool is_cut_off(struct soft_qp *qp, struct soft_remote *r)
{
	return port_blocked(fabric_seg, qp->attr.port_num) ||
		port_blocked(r->peer->seg, r->shm->port);
}

/* Is it still number @qpn, for the same transport, and may it receive? */
static bool answers(struct soft_qp *qp, struct soft_remote *r, uint32_t qpn)
{
	struct shm_qp *peer = r->shm;
	uint32_t state = __atomic_load_n(&peer->state, __ATOMIC_SEQ_CST);

	return peer->qpn == qpn && peer->resets == r->resets &&
		receives_from(peer->type) == qp->shm->type &&
		state >= IBV_QPS_RTR && state <= IBV_QPS_SQE &&
		likely(!is_cut_off(qp, r)) && fabric_peer_alive(r->peer);
}

static bool connected(struct soft_qp *qp, struct soft_remote *r)
{
	return r->shm->dest_qpn == qp->shm->qpn &&
		answers(qp, r, qp->shm->dest_qpn);
}

/* The shared queue may have grown. */
static bool lock_shared(struct soft_remote *r)
{
	lock_take(&r->srq->rq.lock);
	if (likely(r->rq.rings == r->rq.shm->rings) ||
	    rq_find(r->peer->seg, r->rq.shm, &r->rq) == 0)
		return true;
	lock_drop(&r->srq->rq.lock);
	return false;
}

bool remote_lock(struct soft_qp *qp, struct soft_remote *r)
{
	lock_take(&r->shm->rq.lock);
	if (likely(connected(qp, r)) && (!r->srq || lock_shared(r)))
		return true;
	lock_drop(&r->shm->rq.lock);
	return false;
}

bool remote_lock_datagram(struct soft_qp *qp, struct soft_remote *r,
			  uint32_t qpn)
{
	lock_take(&r->shm->rq.lock);
	if (likely(answers(qp, r, qpn)) && (!r->srq || lock_shared(r)))
		return true;
	lock_drop(&r->shm->rq.lock);
	return false;
}

void remote_unlock(struct soft_remote *r)
{
	if (r->srq)
		lock_drop(&r->srq->rq.lock);
	lock_drop(&r->shm->rq.lock);
}
