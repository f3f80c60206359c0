/*
 * Delivering to a receive queue of any process
 *
 *	take its request, check its buffers
 *	move the bytes
 *	write its completion
 *
 * Short payload is put into the completion or into the bounce ring of the CQ, and the receiver
 * copies it to its buffers when it polls, or a little later (land.c). Longer payload is written
 * directly to the receiver's memory, and so is all payload within a process.
 *
 * When a reliable responder fails, its queue pair fails as well (specification, 9.9.3). Unreliable
 * queue pairs drop a message that is longer than their buffer or that their keys do not allow; but
 * a local error makes them fail, too. A message that is too long consumes a request of a shared
 * queue (class E).
 */
#include "shim/soft/transport/deliver.h"

#include <errno.h>

#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/xrc.h"
#include "shim/soft/transport/count.h"
#include "shim/soft/transport/travel.h"
#include "shim/soft/transport/window.h"

static uint32_t state_of(struct shm_qp *shm)
{
	return __atomic_load_n(&shm->state, __ATOMIC_SEQ_CST);
}

static bool is_reliable(const struct soft_remote *r)
{
	return r->shm->type == IBV_QPT_RC || r->shm->type == IBV_QPT_XRC_RECV;
}

void deliver_notify(const struct soft_remote *r, int type)
{
	struct pipe_event event;

	if (r->xrc) {
		xrc_notify(r->xrc, type);
		return;
	}
	event = (struct pipe_event){ PIPE_QP, r->shm - r->peer->seg->qp, r->shm->serial, type };
	pipe_send(r->peer->seg, r->shm->async, &event);
}

void deliver_note_established(struct soft_remote *r)
{
	r->shm->established = 1;
	if (state_of(r->shm) == IBV_QPS_RTR)
		deliver_notify(r, IBV_EVENT_COMM_EST);
}

/* The receive request at the head; NULL: none. */
static inline struct shm_wqe *first_request(struct rq *rq, uint32_t *ret_slot)
{
	uint32_t taken = rq->shm->taken;

	/*
	 * peers may have consumed requests since prod was read; and an SRQ's limit needs the
	 * current number
	 */
	if ((int32_t)(rq->seen - taken) <= 0 || rq->order) {
		/* pairs with the store of rq_publish() */
		rq->seen = __atomic_load_n(&rq->shm->prod, __ATOMIC_SEQ_CST);
		if (taken == rq->seen)
			return NULL;
	}
	*ret_slot = rq_slot(rq, taken);
	return rq_wqe(rq, *ret_slot);
}

bool deliver_ready(struct soft_remote *r)
{
	uint32_t slot;

	return first_request(&r->rq, &slot);
}

/* Fill in @cqe, a completion of the receiver that is not committed yet. */
static ALWAYS_INLINE void describe_recv(struct soft_remote *r, const struct shm_wqe *wqe,
					uint32_t slot, int status, struct shm_cqe *cqe)
{
	cqe->status = status;
	cqe->opcode = IBV_WC_RECV;
	cqe->flags = SHM_CQE_RECV;
	cqe->wr_id = wqe->wr_id;
	cqe->qpn = r->shm->qpn;
	cqe->qp = r->slot;
	cqe->retire = slot;
	if (r->srq) {
		cqe->flags |= SHM_CQE_SRQ;
		cqe->srq = r->srq - r->peer->seg->srq;
	}
}

/* Begin a completion for the receiver; NULL: see cqring_begin(). */
static ALWAYS_INLINE struct shm_cqe *begin_recv(struct soft_remote *r, const struct shm_wqe *wqe,
						uint32_t slot)
{
	struct shm_cqe *cqe = cqring_begin(&r->cq);

	if (cqe)
		describe_recv(r, wqe, slot, IBV_WC_SUCCESS, cqe);
	return cqe;
}

/* Begin a completion that must not be lost. NULL if the queue overruns. */
static struct shm_cqe *begin_failed(struct soft_remote *r, const struct shm_wqe *wqe, uint32_t slot,
				    int status)
{
	struct shm_cqe *cqe = cqring_begin_sure(&r->cq);

	if (cqe)
		describe_recv(r, wqe, slot, status, cqe);
	return cqe;
}

void deliver_srq_limit(struct shm_seg *seg, struct shm_srq *srq)
{
	struct pipe_event event = { PIPE_SRQ, srq - seg->srq, srq->serial,
				    IBV_EVENT_SRQ_LIMIT_REACHED };

	__atomic_store_n(&srq->rq.limit, 0, __ATOMIC_RELAXED);
	pipe_send(seg, srq->async, &event);
}

/* The SRQ cannot complete requests any more: send SRQ_ERR, once. Callers hold its lock. */
static void raise_srq_error(struct shm_seg *seg, struct shm_srq *srq)
{
	struct pipe_event event = { PIPE_SRQ, srq - seg->srq, srq->serial, IBV_EVENT_SRQ_ERR };

	if (srq->error)
		return;
	srq->error = 1;
	pipe_send(seg, srq->async, &event);
}

static void raise_limit_event(struct soft_remote *r)
{
	struct shm_rq *rq = &r->srq->rq;

	if (rq->limit && r->rq.seen - rq->taken < rq->limit)
		deliver_srq_limit(r->peer->seg, r->srq);
}

/*
 * Begin to consume a request. It must be completed even if the consuming process dies: so the
 * process first records the request that it consumes, and the position of the completion.
 */
static ALWAYS_INLINE void begin_consume(struct soft_remote *r)
{
	struct shm_rq *rq = r->rq.shm;

	rq->doing_cq = r->cq.index;
	__atomic_store_n(&rq->doing, (uint64_t)rq->taken << 32 | (uint32_t)(r->cq.shm->prod + 1),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&rq->taken, rq->taken + 1, __ATOMIC_RELEASE);
}

static inline void end_consume(struct soft_remote *r)
{
	__atomic_store_n(&r->rq.shm->doing, 0, __ATOMIC_RELEASE);
}

/* Is the completion at @pos that of the request in @slot? */
static bool is_completion_of(struct soft_remote *r, const struct cqring *cq, uint32_t pos,
			     uint32_t slot)
{
	const struct shm_cqe *cqe = &cq->entries[pos & cq->mask];

	if (cqe->seq != pos + 1)
		/* overwritten long ago: it was published */
		return (int32_t)(cqe->seq - pos - 1) > 0;
	if (!(cqe->flags & SHM_CQE_RECV) || cqe->retire != slot)
		return false;
	return r->srq ? cqe->flags & SHM_CQE_SRQ && cqe->srq == r->srq - r->peer->seg->srq
		      : cqe->qpn == r->shm->qpn;
}

static void repair_taken(struct soft_remote *r)
{
	struct shm_rq *rq = r->rq.shm;
	uint32_t pos = rq->doing >> 32;
	struct cqring cq = { 0 };

	if (rq->taken != pos + 1 || cqring_find(r->peer->seg, rq->doing_cq, &cq) < 0)
		return;
	if (cqring_lock(&cq) &&
	    !is_completion_of(r, &cq, (uint32_t)rq->doing - 1, rq_slot(&r->rq, pos)))
		__atomic_store_n(&rq->taken, pos, __ATOMIC_RELEASE);
	lock_drop(&cq.shm->lock);
}

/*
 * If the last consumer has died: return the request that it has taken but not completed to the
 * queue.
 */
static inline void return_to_queue(struct soft_remote *r)
{
	if (likely(!r->rq.shm->doing))
		return;
	repair_taken(r);
	end_consume(r);
}

static ALWAYS_INLINE void consume_request(struct soft_remote *r)
{
	begin_consume(r);
	if (r->srq)
		raise_limit_event(r);
	else
		__builtin_prefetch(rq_wqe(&r->rq, r->rq.shm->taken));
}

static void flush_requests(struct soft_remote *r)
{
	struct shm_cqe *cqe;
	struct shm_wqe *wqe;
	uint32_t slot, n;

	return_to_queue(r);
	/* at most once around the queue, whatever a peer has written to it */
	for (n = 0; n <= r->rq.mask && (wqe = first_request(&r->rq, &slot)); n++) {
		cqe = begin_failed(r, wqe, slot, IBV_WC_WR_FLUSH_ERR);
		begin_consume(r);
		count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, IBV_WC_WR_FLUSH_ERR, 0);
		if (cqe)
			cqring_commit(&r->cq, cqe, true);
		end_consume(r);
		if (!cqe)
			break;
	}
}

/* Complete the request that the first packets of a message have claimed. */
static bool complete_claimed(struct soft_remote *r, int status)
{
	uint32_t slot = r->shm->claimed - 1;
	struct shm_wqe *wqe = rq_wqe(&r->rq, slot);
	struct shm_cqe *cqe = begin_failed(r, wqe, slot, status);

	r->shm->claimed = 0;
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, status, 0);
	if (cqe)
		cqring_commit(&r->cq, cqe, true);
	return cqe;
}

static void fail_responder(struct soft_remote *r, int event)
{
	bool shared = r->xrc || r->shm->srq;
	bool again = state_of(r->shm) == IBV_QPS_ERR;

	/* must be stored before the queue is read: see rq_publish() */
	__atomic_store_n(&r->shm->state, IBV_QPS_ERR, __ATOMIC_SEQ_CST);
	if (unlikely(r->shm->claimed) && r->rq.shm)
		complete_claimed(r, IBV_WC_WR_FLUSH_ERR);
	if (!shared && r->rq.shm)
		flush_requests(r);
	if (event >= 0)
		deliver_notify(r, event);
	if (shared && !again)
		deliver_notify(r, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void deliver_fail(struct soft_qp *qp)
{
	struct peer self = { .seg = segment_own };
	struct soft_remote r = { .peer = &self, .shm = qp->shm, .rq = qp->rq, .xrc = qp->xrc };

	r.slot = qp->xrc ? UINT16_MAX : qp->ex.qp_base.handle;
	if (qp->recv_cq)
		cqring_copy(&r.cq, &qp->recv_cq->ring);
	if (r.rq.shm)
		r.rq.seen = r.rq.shm->taken;
	if (qp->srq) {
		r.rq = qp->srq->rq;
		r.srq = qp->srq->shm;
	}
	fail_responder(&r, -1);
}

int deliver_fail_responder(struct soft_remote *r, int event, int status)
{
	fail_responder(r, event);
	return status;
}

/* The completion queue overruns. With XRC it belongs to the shared receive queue. */
static int fail_overrun(struct soft_remote *r)
{
	if (r->xrc)
		raise_srq_error(r->peer->seg, r->srq);
	return deliver_fail_responder(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
}

int deliver_refuse(struct soft_remote *r, int event, int status)
{
	return is_reliable(r) ? deliver_fail_responder(r, event, status) : status;
}

static void complete_with(struct soft_remote *r, struct shm_wqe *wqe, uint32_t slot, int status)
{
	struct shm_cqe *cqe = begin_failed(r, wqe, slot, status);

	consume_request(r);
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, status, 0);
	if (cqe)
		cqring_commit(&r->cq, cqe, true);
	end_consume(r);
}

/* Fail a consumed receive request with @recv_status, and the responder. Returns @status. */
static int fail_recv(struct soft_remote *r, struct shm_wqe *wqe, uint32_t slot, int recv_status,
		     int status)
{
	complete_with(r, wqe, slot, recv_status);
	return deliver_fail_responder(r, -1, status);
}

static int fail_too_long(struct soft_remote *r, struct shm_wqe *wqe, uint32_t slot)
{
	if (is_reliable(r))
		return fail_recv(r, wqe, slot, IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (r->srq)
		complete_with(r, wqe, slot, IBV_WC_LOC_LEN_ERR);
	return IBV_WC_REM_INV_REQ_ERR;
}

int deliver_copy_error(int err)
{
	switch (err) {
	case 0:
		return IBV_WC_SUCCESS;
	case -ESRCH:
		return EXECUTE_NO_PEER;
	case -EAGAIN:
		return EXECUTE_LATER;
	default:
		return IBV_WC_REM_OP_ERR;
	}
}

static ALWAYS_INLINE void describe_message(const struct message *m, struct shm_cqe *cqe)
{
	cqe->opcode = m->opcode;
	cqe->wc_flags = m->wc_flags;
	cqe->imm = m->imm;
	cqe->byte_len = m->length;
	cqe->src_qp = m->src_qp;
	cqe->slid = m->slid;
	cqe->sl = m->sl;
	cqe->flags |= m->flags;
}

static ALWAYS_INLINE void finish_recv(struct soft_remote *r, const struct message *m,
				      struct shm_cqe *cqe)
{
	describe_message(m, cqe);
	consume_request(r);
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, IBV_WC_SUCCESS, m->length);
	cqring_commit(&r->cq, cqe, m->solicited);
	end_consume(r);
}

/* Put the payload into the completion or into the bounce ring, if it fits. */
static bool pack_payload(struct soft_remote *r, struct shm_cqe *cqe, const struct message *m,
			 const struct copy_list *there)
{
	uint32_t length = m->length - m->absent;
	uint8_t *to = cqe->data;

	if (cqring_drops(&r->cq, cqe))
		return false;
	if (length > SHM_CQE_INLINE)
		to = cqring_bounce(&r->cq, cqe, length);
	else
		cqe->where = SHM_INLINE;
	if (!to)
		return false;
	copy_list_gather(to, m->from);
	in_flight_note(r, there);
	if (unlikely(cqring_sleeps(&r->cq)))
		cqring_wake(&r->cq);
	return true;
}

/*
 * May the payload be sent with the completion? Not if the receiver could have a page fault when it
 * polls, counts completions and may never poll, or has not polled for some time (land.c).
 */
static bool may_send_payload(struct soft_remote *r, const struct message *m,
			     const struct copy_list *to)
{
	uint32_t length = m->length - m->absent;

	return r->peer->seg != segment_own && length && length <= SHM_BOUNCE_MSG && !to->paged &&
	       !(r->shm->counted & 1 << SHM_COUNT_RECV) && !r->cq.shm->written;
}

static int put_guarded(struct soft_remote *r, struct copy_list *from, struct copy_list *to)
{
	return r->peer->seg == segment_own ? copy_put_guarded(from, to)
					   : copy_put(r->peer, from, to);
}

/* Move the payload, and begin the completion of the receive. */
static int move_payload(struct soft_remote *r, const struct message *m, struct copy_list *to,
			struct shm_wqe *wqe, uint32_t slot, struct shm_cqe **ret_cqe)
{
	bool landed = !may_send_payload(r, m, to);
	int err = 0;

	if (m->absent)
		copy_list_skip(to, m->absent);
	for (;;) {
		if (landed)
			err = unlikely(m->guarded) ? put_guarded(r, m->from, to)
						   : copy_put(r->peer, m->from, to);
		if (err < 0)
			return err;
		*ret_cqe = begin_recv(r, wqe, slot);
		if (!*ret_cqe)
			return r->cq.stuck ? -EAGAIN : -ENOSPC;
		if (landed || pack_payload(r, *ret_cqe, m, to))
			return 0;
		/*
		 * no space in the ring: write to the receiver's memory; this entry stays
		 * unpublished
		 */
		lock_drop(&r->cq.shm->lock);
		if (unlikely(m->flags & SHM_CQE_DATAGRAM) &&
		    __atomic_load_n(&r->peer->forbidden, __ATOMIC_RELAXED))
			return -EAGAIN; /* too short to request a copy by the owner */
		landed = true;
	}
}

int deliver_message(struct soft_remote *r, struct message *m)
{
	struct copy_list to;
	struct shm_cqe *cqe;
	struct shm_wqe *wqe;
	uint32_t slot, num;
	int err;

	return_to_queue(r);
	wqe = first_request(&r->rq, &slot);
	if (!wqe)
		return EXECUTE_RNR;
	if (m->length > wqe->length)
		return fail_too_long(r, wqe, slot);
	num = rq_num_sge(&r->rq, wqe);
	if (!copy_list_check(r->peer->seg, r->rq_pd, IBV_ACCESS_LOCAL_WRITE, wqe->sge, num,
			     m->length, &to))
		return fail_recv(r, wqe, slot, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	if (unlikely(m->wc_flags & IBV_WC_WITH_INV) &&
	    !window_invalidate(r->peer->seg, r->shm, m->imm))
		return fail_recv(r, wqe, slot, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR);
	if (unlikely(m->has_forced_status))
		return EXECUTE_FORCED;
	err = move_payload(r, m, &to, wqe, slot, &cqe);
	if (err == -EFAULT)
		return fail_recv(r, wqe, slot, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
	if (err == -ENOSPC)
		return fail_overrun(r);
	if (err < 0)
		return deliver_copy_error(err);
	finish_recv(r, m, cqe);
	return IBV_WC_SUCCESS;
}

int deliver_completion_only(struct soft_remote *r, const struct message *m)
{
	struct shm_cqe *cqe;
	struct shm_wqe *wqe;
	uint32_t slot;

	return_to_queue(r);
	wqe = first_request(&r->rq, &slot);
	cqe = wqe ? begin_recv(r, wqe, slot) : NULL;
	if (!cqe)
		return wqe && r->cq.stuck ? EXECUTE_LATER : fail_overrun(r);
	finish_recv(r, m, cqe);
	return IBV_WC_SUCCESS;
}

bool deliver_claim(struct soft_remote *r)
{
	uint32_t slot;

	return_to_queue(r);
	if (!first_request(&r->rq, &slot))
		return false;
	consume_request(r);
	r->shm->claimed = slot + 1;
	end_consume(r);
	return true;
}

static struct shm_wqe *claimed_request(struct soft_remote *r)
{
	return rq_wqe(&r->rq, r->shm->claimed - 1);
}

uint32_t deliver_claimed_length(struct soft_remote *r)
{
	return claimed_request(r)->length;
}

bool deliver_list_claimed(struct soft_remote *r, uint32_t len, struct copy_list *to)
{
	struct shm_wqe *wqe = claimed_request(r);

	return copy_list_check(r->peer->seg, r->rq_pd, IBV_ACCESS_LOCAL_WRITE, wqe->sge,
			       rq_num_sge(&r->rq, wqe), len, to);
}

int deliver_fail_claimed(struct soft_remote *r, int recv_status, int status)
{
	complete_claimed(r, recv_status);
	return deliver_fail_responder(r, -1, status);
}

int deliver_finish_claimed(struct soft_remote *r, const struct message *m)
{
	uint32_t slot = r->shm->claimed - 1;
	struct shm_cqe *cqe;

	if (unlikely(m->wc_flags & IBV_WC_WITH_INV) &&
	    !window_invalidate(r->peer->seg, r->shm, m->imm))
		return deliver_fail_claimed(r, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR);
	cqe = begin_recv(r, claimed_request(r), slot);
	if (!cqe)
		return r->cq.stuck ? EXECUTE_LATER : fail_overrun(r);
	r->shm->claimed = 0;
	describe_message(m, cqe);
	count_request(r->peer->seg, r->shm, SHM_COUNT_RECV, IBV_WC_SUCCESS, m->length);
	cqring_commit(&r->cq, cqe, m->solicited);
	return IBV_WC_SUCCESS;
}
