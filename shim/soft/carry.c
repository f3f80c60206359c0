/*
 * The wire: who posts a send request carries it out at both ends
 *
 * For one request, under the lock of the send queue:
 *
 *	check our own buffers
 *	find the peer's queue pair and lock it (remote.c)
 *	take its receive request, check its buffers or its remote key
 *	move the bytes
 *	write its completion
 *	unlock; our own completion is the caller's (sq.c)
 *
 * Short payload goes into the completion itself or into the ring of bytes
 * beside it, and the peer brings it to its buffers when it polls; the rest
 * is written into its memory. Within a process it is always written.
 *
 * When the responder fails, its queue pair fails as well, as the
 * specification has it for reliable connections (9.9.3).
 */
#include "shim/soft/carry.h"

#include <errno.h>
#include <string.h>

#include "shim/soft/copy.h"
#include "shim/soft/pipe.h"
#include "shim/soft/remote.h"
#include "shim/soft/srq.h"

enum { MSG_MAX = 1 << 30 };

static uint32_t state_of(struct shm_qp *shm)
{
	return __atomic_load_n(&shm->state, __ATOMIC_SEQ_CST);
}

static void tell(struct shm_seg *seg, struct shm_qp *qp, int type)
{
	struct pipe_event event = { PIPE_QP, qp - seg->qp, qp->serial, type };

	pipe_send(seg, qp->async, &event);
}

static void establish(struct soft_remote *r)
{
	if (likely(r->shm->established))
		return;
	r->shm->established = 1;
	if (state_of(r->shm) == IBV_QPS_RTR)
		tell(r->peer->seg, r->shm, IBV_EVENT_COMM_EST);
}

/* The receive request at the head, or NULL. */
static struct shm_wqe *first(struct rq *rq, uint32_t *ret_slot)
{
	uint32_t taken = rq->shm->taken;

	/* a shared queue is taken from by others, too */
	if (taken == rq->seen || rq->order) {
		/* pairs with the store of rq_publish() */
		rq->seen = __atomic_load_n(&rq->shm->prod, __ATOMIC_SEQ_CST);
		if (taken == rq->seen)
			return NULL;
	}
	*ret_slot = rq_slot(rq, taken);
	return rq_wqe(rq, *ret_slot);
}

/* A completion of the peer's receive; NULL if its queue overruns. */
static struct shm_cqe *begin_recv(struct soft_remote *r, struct shm_wqe *wqe,
				  uint32_t slot, int status)
{
	struct shm_cqe *cqe = cqring_begin(&r->cq);

	if (!cqe)
		return NULL;
	cqe->status = status;
	cqe->opcode = IBV_WC_RECV;
	cqe->flags = SHM_CQE_RECV;
	cqe->wr_id = wqe->wr_id;
	cqe->qpn = r->shm->qpn;
	cqe->qp = r->shm - r->peer->seg->qp;
	cqe->retire = slot;
	if (r->srq) {
		cqe->flags |= SHM_CQE_SRQ;
		cqe->srq = r->srq - r->peer->seg->srq;
	}
	return cqe;
}

static void tell_limit(struct soft_remote *r)
{
	struct shm_rq *rq = &r->srq->rq;

	if (rq->limit && r->rq.seen - rq->taken < rq->limit)
		srq_tell_limit(r->peer->seg, r->srq);
}

static void take(struct soft_remote *r)
{
	uint32_t taken = r->rq.shm->taken + 1;

	__atomic_store_n(&r->rq.shm->taken, taken, __ATOMIC_RELEASE);
	if (r->srq)
		tell_limit(r);
	else
		__builtin_prefetch(rq_wqe(&r->rq, taken));
}

void carry_fail(struct shm_seg *seg, uint32_t index, struct rq *rq,
		struct cqring *cq, int event)
{
	struct shm_qp *qp = &seg->qp[index];
	struct soft_remote r = { .shm = qp, .cq = *cq };
	struct fabric_peer peer = { .seg = seg };
	bool again = state_of(qp) == IBV_QPS_ERR;
	struct shm_cqe *cqe;
	struct shm_wqe *wqe;
	uint32_t slot;

	r.peer = &peer;
	/* before the queue is read: see rq_publish() */
	__atomic_store_n(&qp->state, IBV_QPS_ERR, __ATOMIC_SEQ_CST);
	while (!qp->srq && (wqe = first(rq, &slot))) {
		rq->shm->taken++;
		cqe = begin_recv(&r, wqe, slot, IBV_WC_WR_FLUSH_ERR);
		if (!cqe)
			break;
		cqring_commit(&r.cq, cqe, true);
	}
	if (event >= 0)
		tell(seg, qp, event);
	if (qp->srq && !again)
		tell(seg, qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

/* The responder fails, with @event; the requester learns @status. */
static int fail_peer(struct soft_remote *r, int event, int status)
{
	carry_fail(r->peer->seg, r->shm - r->peer->seg->qp, &r->rq, &r->cq,
		   event);
	return status;
}

/* It fails on the receive request it has taken. */
static int fail_recv(struct soft_remote *r, struct shm_wqe *wqe, uint32_t slot,
		     int recv_status, int status)
{
	struct shm_cqe *cqe = begin_recv(r, wqe, slot, recv_status);

	take(r);
	if (cqe)
		cqring_commit(&r->cq, cqe, true);
	return fail_peer(r, -1, status);
}

static int copy_error(int err)
{
	switch (err) {
	case 0:
		return IBV_WC_SUCCESS;
	case -ESRCH:
		return CARRY_NO_PEER;
	case -EPERM:
		return IBV_WC_LOC_QP_OP_ERR;
	default:
		return IBV_WC_REM_OP_ERR;
	}
}

static bool has_imm(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_SEND_WITH_IMM ||
		wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void finish_recv(struct soft_qp *qp, struct soft_remote *r,
			const struct soft_wr *wr, struct shm_cqe *cqe)
{
	if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		cqe->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (has_imm(wr)) {
		cqe->wc_flags = IBV_WC_WITH_IMM;
		cqe->imm = wr->imm;
	}
	cqe->byte_len = wr->length;
	cqe->src_qp = qp->shm->qpn;
	take(r);
	cqring_commit(&r->cq, cqe, wr->flags & IBV_SEND_SOLICITED);
}

/* Let the payload travel with the completion, if there is room. */
static bool pack(struct soft_remote *r, struct shm_cqe *cqe,
		 const struct soft_wr *wr, const struct copy_list *from)
{
	uint8_t *to = cqe->data;

	if (wr->length > SHM_CQE_INLINE)
		to = cqring_bounce(&r->cq, cqe, wr->length);
	else
		cqe->where = SHM_INLINE;
	if (to)
		copy_gather(to, from);
	return to;
}

static bool travels(struct soft_remote *r, const struct soft_wr *wr)
{
	return r->peer->seg != fabric_seg && wr->length &&
		wr->length <= SHM_BOUNCE_MSG;
}

/* Bring the bytes there, and begin the completion that says so. */
static int deliver(struct soft_remote *r, const struct soft_wr *wr,
		   struct copy_list *from, struct copy_list *to,
		   struct shm_wqe *wqe, uint32_t slot,
		   struct shm_cqe **ret_cqe)
{
	bool landed = !travels(r, wr);
	int err = 0;

	for (;;) {
		if (landed)
			err = copy_put(r->peer, from, to);
		if (err < 0)
			return err;
		*ret_cqe = begin_recv(r, wqe, slot, IBV_WC_SUCCESS);
		if (!*ret_cqe)
			return -ENOSPC;
		if (landed || pack(r, *ret_cqe, wr, from))
			return 0;
		/* no room: across after all; this entry stays unpublished */
		lock_drop(&r->cq.shm->lock);
		landed = true;
	}
}

static int send_to(struct soft_qp *qp, struct soft_remote *r,
		   struct soft_wr *wr, struct copy_list *from)
{
	struct copy_list to;
	struct shm_cqe *cqe;
	struct shm_wqe *wqe;
	uint32_t slot, num;
	int err;

	wqe = first(&r->rq, &slot);
	if (!wqe)
		return CARRY_RNR;
	if (wr->length > wqe->length)
		return fail_recv(r, wqe, slot, IBV_WC_LOC_LEN_ERR,
				 IBV_WC_REM_INV_REQ_ERR);
	num = wqe->num_sge < r->rq.max_sge ? wqe->num_sge : r->rq.max_sge;
	if (!copy_check(r->peer->seg, r->rq_pd, IBV_ACCESS_LOCAL_WRITE,
			wqe->sge, num, wr->length, &to))
		return fail_recv(r, wqe, slot, IBV_WC_LOC_PROT_ERR,
				 IBV_WC_REM_OP_ERR);
	err = deliver(r, wr, from, &to, wqe, slot, &cqe);
	if (err == -EFAULT)
		return fail_recv(r, wqe, slot, IBV_WC_LOC_PROT_ERR,
				 IBV_WC_REM_OP_ERR);
	if (err == -ENOSPC)
		return fail_peer(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	if (err < 0)
		return copy_error(err);
	finish_recv(qp, r, wr, cqe);
	return IBV_WC_SUCCESS;
}

/* The receive request of a write with immediate data takes no bytes. */
static int notify_of_write(struct soft_qp *qp, struct soft_remote *r,
			   struct soft_wr *wr)
{
	struct shm_cqe *cqe;
	struct shm_wqe *wqe;
	uint32_t slot;

	wqe = first(&r->rq, &slot);
	cqe = wqe ? begin_recv(r, wqe, slot, IBV_WC_SUCCESS) : NULL;
	if (!cqe)
		return fail_peer(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	finish_recv(qp, r, wr, cqe);
	return IBV_WC_SUCCESS;
}

static int write_to(struct soft_qp *qp, struct soft_remote *r,
		    struct soft_wr *wr, struct copy_list *from)
{
	struct copy_list to;
	uint32_t slot;
	int err;

	if (!(r->shm->access & IBV_ACCESS_REMOTE_WRITE))
		return fail_peer(r, IBV_EVENT_QP_REQ_ERR,
				 IBV_WC_REM_INV_REQ_ERR);
	if (!copy_check_remote(r->peer->seg, r->pd,
			       IBV_ACCESS_REMOTE_WRITE, wr->remote_addr,
			       wr->rkey, wr->length, &to))
		return fail_peer(r, IBV_EVENT_QP_ACCESS_ERR,
				 IBV_WC_REM_ACCESS_ERR);
	if (has_imm(wr) && !first(&r->rq, &slot))
		return CARRY_RNR;
	err = copy_put(r->peer, from, &to);
	if (err == -EFAULT)
		return fail_peer(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	if (err < 0)
		return copy_error(err);
	return has_imm(wr) ? notify_of_write(qp, r, wr) : IBV_WC_SUCCESS;
}

/* What reads and atomics have in common: may they be answered? */
static int check_response(struct soft_remote *r, struct soft_wr *wr,
			  uint32_t access, uint64_t length,
			  struct copy_list *from)
{

	if (!(r->shm->access & access) || !r->shm->max_dest_rd ||
	    (access == IBV_ACCESS_REMOTE_ATOMIC && wr->remote_addr % 8))
		return fail_peer(r, IBV_EVENT_QP_REQ_ERR,
				 IBV_WC_REM_INV_REQ_ERR);
	if (!copy_check_remote(r->peer->seg, r->pd, access,
			       wr->remote_addr, wr->rkey, length, from))
		return fail_peer(r, IBV_EVENT_QP_ACCESS_ERR,
				 IBV_WC_REM_ACCESS_ERR);
	return IBV_WC_SUCCESS;
}

static int read_from(struct soft_remote *r, struct soft_wr *wr,
		     struct copy_list *to)
{
	struct copy_list from;
	int err;

	err = check_response(r, wr, IBV_ACCESS_REMOTE_READ, wr->length, &from);
	if (err)
		return err;
	err = copy_get(r->peer, to, &from);
	if (err == -EFAULT)
		return fail_peer(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	return copy_error(err);
}

static uint64_t atomic_result(const struct soft_wr *wr, uint64_t old)
{
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return old + wr->compare_add;
	return old == wr->compare_add ? wr->swap : old;
}

/* Atomic among devices only (IBV_ATOMIC_HCA). */
static int change_there(struct soft_remote *r, const struct soft_wr *wr,
			const struct copy_list *there, uint64_t *old)
{
	struct copy_list here, remote = *there;
	uint64_t new;
	int err;

	here.count = 1;
	here.iov[0] = (struct iovec){ old, sizeof(*old) };

	lock_take(&r->peer->seg->atomics);
	err = copy_get(r->peer, &here, &remote);
	if (!err) {
		new = atomic_result(wr, *old);
		here.iov[0] = (struct iovec){ &new, sizeof(new) };
		remote = *there;
		err = copy_put(r->peer, &here, &remote);
	}
	lock_drop(&r->peer->seg->atomics);
	return err;
}

static int atomic_at(struct soft_remote *r, struct soft_wr *wr,
		     const struct copy_list *to)
{
	struct copy_list there;
	uint64_t old;
	int err;

	err = check_response(r, wr, IBV_ACCESS_REMOTE_ATOMIC, sizeof(old),
			     &there);
	if (err)
		return err;
	err = change_there(r, wr, &there, &old);
	if (err == -EFAULT)
		return fail_peer(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	if (!err)
		copy_scatter(to, (uint8_t *)&old, sizeof(old));
	return copy_error(err);
}

static int carry_locked(struct soft_qp *qp, struct soft_remote *r,
			struct soft_wr *wr, struct copy_list *local)
{
	establish(r);
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return send_to(qp, r, wr, local);
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return write_to(qp, r, wr, local);
	case IBV_WR_RDMA_READ:
		return read_from(r, wr, local);
	default:
		return atomic_at(r, wr, local);
	}
}

static bool reads(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_RDMA_READ ||
		wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Our own end, which needs no peer. */
static int check_local(struct soft_qp *qp, struct soft_wr *wr,
		       struct copy_list *list)
{
	if (wr->length > MSG_MAX)
		return IBV_WC_LOC_LEN_ERR;
	if (wr->flags & IBV_SEND_INLINE) {
		list->iov[0].iov_base = wr->sge;
		list->iov[0].iov_len = wr->length;
		list->count = 1;
		return IBV_WC_SUCCESS;
	}
	if (!copy_check(fabric_seg, qp->shm->pd,
			reads(wr) ? IBV_ACCESS_LOCAL_WRITE : 0, wr->sge,
			wr->num_sge, wr->length, list))
		return IBV_WC_LOC_PROT_ERR;
	if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP && wr->length != 8)
		return IBV_WC_LOC_LEN_ERR;
	if (reads(wr) && !qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	return IBV_WC_SUCCESS;
}

int carry(struct soft_qp *qp, struct soft_wr *wr)
{
	struct soft_remote *r;
	struct copy_list local;
	int status;

	status = check_local(qp, wr, &local);
	if (status)
		return status;
	r = remote_find(qp, wr);
	if (!r)
		return CARRY_NO_PEER;
	if (likely(remote_lock(qp, r))) {
		status = carry_locked(qp, r, wr, &local);
		remote_unlock(r);
	} else
		status = CARRY_NO_PEER;
	if (unlikely(status == CARRY_NO_PEER))
		remote_drop(qp);
	return status;
}
