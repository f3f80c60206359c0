/*
 * The other end: queue pair number -> process -> slot in its segment
 *
 * The peer is looked up once, with all data that delivery needs. Each request checks, with the
 * peer's lock held, that the slot still has the connected queue pair, and that this is ready.
 *
 * With XRC there is a struct soft_remote for each shared queue used by requests: a list that begins
 * in the queue pair.
 */
#include "shim/soft/transport/remote.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/xrc.h"
#include "shim/soft/transport/retry_timeout.h"
#include "shim/soft/transport/port_state.h"
#include "shim/soft/transport/tag_list.h"

static void drop_shared(struct soft_remote *r)
{
	struct soft_remote *next;

	for (; r; r = next) {
		next = r->next;
		registry_put_peer(r->peer);
		free(r);
	}
}

void remote_forget(struct soft_remote *r)
{
	drop_shared(r->next);
	registry_put_peer(r->peer);
	memset(r, 0, sizeof(*r));
}

void remote_drop(struct soft_qp *qp)
{
	remote_forget(&qp->remote);
}

/*
 * Find the tag matching list: all messages of a queue with tag matching complete in a separate
 * completion queue.
 */
static int find_tags(struct soft_remote *r)
{
	r->num_tags = r->srq->tags;
	r->tm = tag_list_find(r->peer->seg, r->srq->tm_off, r->num_tags);
	return r->tm ? cqring_find(r->peer->seg, r->srq->cq, &r->cq) : -EPROTO;
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
	if (unlikely(r->srq->tags)) {
		err = find_tags(r);
		if (err < 0)
			return err;
	}
	return rq_find(seg, &r->srq->rq, &r->rq);
}

bool remote_resolve(struct soft_remote *r, uint32_t qpn)
{
	uint32_t index;

	if (registry_find_qp(qpn, &r->peer, &index) < 0)
		return false;
	r->shm = &r->peer->seg->qp[index];
	r->slot = index;
	r->resets = __atomic_load_n(&r->shm->resets, __ATOMIC_ACQUIRE);
	if (find_queues(r) < 0) {
		remote_forget(r);
		return false;
	}
	return true;
}

bool remote_resolve_xrc(struct soft_remote *r, uint32_t qpn)
{
	uint32_t slot;

	if (registry_find_xrc(qpn, &slot) < 0)
		return false;
	r->xrc = &registry_xrc()->qp[slot];
	r->shm = &r->xrc->qp;
	/* the receiving process may have no object for this queue pair */
	r->slot = UINT16_MAX;
	r->resets = __atomic_load_n(&r->shm->resets, __ATOMIC_ACQUIRE);
	return true;
}

static int find_shared(struct soft_remote *r)
{
	uint32_t slot;
	int err;

	err = registry_find_number(REGISTRY_SRQ, r->srqn, &r->peer, &slot);
	if (err < 0)
		return err;
	if (!peer_check_alive(r->peer))
		return -ENOENT;
	r->srq = &r->peer->seg->srq[slot];
	r->pd = r->rq_pd = r->srq->pd;
	err = cqring_find(r->peer->seg, r->srq->cq, &r->cq);
	return err < 0 ? err : rq_find(r->peer->seg, &r->srq->rq, &r->rq);
}

static struct soft_remote *resolve_shared(struct soft_remote *base, uint32_t srqn)
{
	struct soft_remote *r = malloc(sizeof(*r));

	if (!r)
		return NULL;
	*r = *base;
	r->srqn = srqn;
	if (find_shared(r) < 0) {
		registry_put_peer(r->peer);
		free(r);
		return base;
	}
	base->next = r;
	return r;
}

struct soft_remote *remote_find_shared(struct soft_remote *base, uint32_t srqn)
{
	struct soft_remote *r;

	for (r = base->next; r; r = r->next)
		if (r->srqn == srqn)
			return r;
	return resolve_shared(base, srqn);
}

/*
 * XRC: find first the queue pair, which no single process owns, then the shared queue. If there is
 * no shared queue, the queue pair refuses the request.
 */
static struct soft_remote *find_xrc(struct soft_qp *qp, uint32_t srqn)
{
	struct soft_remote *r = &qp->remote;

	if (!r->xrc && !(qp->reachable && remote_resolve_xrc(r, qp->shm->dest_qpn)))
		return NULL;
	return remote_find_shared(r, srqn);
}

struct soft_remote *remote_look_up(struct soft_qp *qp, const struct soft_wr *wr)
{
	struct soft_remote *r = &qp->remote;

	if (qp->shm->type == IBV_QPT_XRC_SEND)
		return find_xrc(qp, wr->srqn);
	if (r->shm)
		return r;
	return qp->reachable && remote_resolve(r, qp->shm->dest_qpn) ? r : NULL;
}

static uint8_t receives_from(uint8_t type)
{
	return type == IBV_QPT_XRC_RECV ? IBV_QPT_XRC_SEND : type;
}

/* Is one of the ports down? */
static inline bool is_cut_off(struct soft_qp *qp, struct soft_remote *r)
{
	return port_is_blocked(segment_own, qp->attr.port_num) ||
	       (r->peer && port_is_blocked(r->peer->seg, r->shm->port));
}

/*
 * Is the peer alive? With XRC, the death of a holder is noticed at the next tick of the coarse
 * clock.
 */
static inline bool is_alive(struct soft_remote *r)
{
	uint64_t now;

	if (r->peer && !peer_is_alive(r->peer))
		return false;
	if (likely(!r->xrc))
		return true;
	now = process_now_coarse();
	if (r->held != now && xrc_is_held(r->xrc))
		r->held = now;
	return r->held == now;
}

/*
 * Is the queue pair still number @qpn, with the same transport and partition, and may it receive?
 * @r may be the receiving end of @qp itself, to which the network delivers.
 */
static ALWAYS_INLINE bool does_answer(struct soft_qp *qp, struct soft_remote *r, uint32_t qpn)
{
	struct shm_qp *peer = r->shm;
	uint32_t state = __atomic_load_n(&peer->state, __ATOMIC_SEQ_CST);

	return peer->qpn == qpn && peer->resets == r->resets &&
	       likely(receives_from(peer->type) == qp->shm->type || peer == qp->shm) &&
	       state >= IBV_QPS_RTR && state <= IBV_QPS_SQE &&
	       likely(port_same_partition(qp->shm->pkey, peer->pkey)) &&
	       likely(!is_cut_off(qp, r)) && is_alive(r);
}

static inline bool is_connected(struct soft_qp *qp, struct soft_remote *r)
{
	return r->shm->dest_qpn == qp->shm->qpn && does_answer(qp, r, qp->shm->dest_qpn);
}

static bool wait_for_live_lock(struct soft_remote *r, struct lock *lock)
{
	struct lock_bit bit = { 0 };

	if (lock == &r->shm->rq.lock && !r->xrc)
		bit = lock_bit(r->peer->seg->active, r->slot);
	r->stuck = lock_wait_live(lock, bit) == LOCK_STUCK;
	return !r->stuck;
}

/*
 * Take @lock unless its owner is stopped. @r->stuck is read only after failures, so it is written
 * only if it changes.
 */
static ALWAYS_INLINE bool take_live_lock(struct soft_remote *r, struct lock *lock)
{
	if (unlikely(r->stuck))
		r->stuck = false;
	return likely(lock_try(lock)) || wait_for_live_lock(r, lock);
}

/* Lock the shared queue, which may have grown, or with XRC may have been destroyed. */
static bool lock_shared(struct soft_remote *r)
{
	if (!take_live_lock(r, &r->srq->rq.lock))
		return false;
	if (r->srq->srqn == r->srqn && (likely(r->rq.rings == r->rq.shm->rings) ||
					rq_find(r->peer->seg, r->rq.shm, &r->rq) == 0))
		return true;
	lock_drop(&r->srq->rq.lock);
	return false;
}

bool remote_lock(struct soft_qp *qp, struct soft_remote *r)
{
	if (unlikely(!take_live_lock(r, &r->shm->rq.lock)))
		return false;
	if (likely(is_connected(qp, r)) && (!r->srq || lock_shared(r)))
		return true;
	lock_drop(&r->shm->rq.lock);
	return false;
}

bool remote_lock_datagram(struct soft_qp *qp, struct soft_remote *r, uint32_t qpn)
{
	if (unlikely(!take_live_lock(r, &r->shm->rq.lock)))
		return false;
	if (likely(does_answer(qp, r, qpn)) && (!r->srq || lock_shared(r)))
		return true;
	lock_drop(&r->shm->rq.lock);
	return false;
}

int remote_check_xrc(const struct soft_remote *r)
{
	if (!r->srq || r->srq->xrcd != r->xrc->xrcd)
		return IBV_WC_REM_INV_REQ_ERR;
	return r->srq->error ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS;
}

bool remote_lags(struct soft_remote *r)
{
	uint32_t prod = __atomic_load_n(&r->rq.shm->prod, __ATOMIC_RELAXED);
	uint64_t now;

	if (!prod)
		return false;
	now = process_now();
	if (prod != r->lag_prod) {
		r->lag_prod = prod;
		r->lag_until = now + RETRY_TIMEOUT_LAG;
	}
	if (now >= r->lag_until)
		return false;
	sched_yield(); /* the receiver may be waiting for the processor of this thread */
	return true;
}
