/*
 * The network within the fabric: the process that posts a send request executes it at both ends
 *
 * For one request, with the lock of the send queue held:
 *
 *	check the own buffers
 *	find the peer's queue pair and lock it (remote.c)
 *	a message: deliver it (deliver.c)
 *	RDMA: check the remote key, move the bytes
 *	unlock; the caller writes the sender's completion (sq.c)
 */
#include "shim/soft/transport/execute.h"

#include <errno.h>

#include "shim/soft/fabric/copy.h"
#include "shim/soft/fabric/flush.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/count.h"
#include "shim/soft/transport/datagram.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/raw.h"
#include "shim/soft/transport/remote.h"
#include "shim/soft/transport/tag.h"
#include "shim/soft/transport/travel.h"
#include "shim/soft/transport/window.h"

static bool has_imm(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_send(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM ||
	       wr->opcode == IBV_WR_SEND_WITH_INV;
}

static struct message message_of(struct soft_qp *qp, const struct soft_wr *wr,
				 struct copy_list *from)
{
	return (struct message){
		.from = from,
		.length = wr->length,
		.src_qp = qp->shm->qpn,
		.imm = wr->imm,
		.opcode = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM
								   : IBV_WC_RECV,
		.wc_flags = has_imm(wr)                          ? IBV_WC_WITH_IMM
			    : wr->opcode == IBV_WR_SEND_WITH_INV ? IBV_WC_WITH_INV
								 : 0,
		.solicited = wr->flags & IBV_SEND_SOLICITED,
		.has_forced_status = qp->sq.forced_status,
	};
}

static int send_to(struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
		   struct copy_list *from)
{
	struct message m = message_of(qp, wr, from);

	return unlikely(r->tm) ? tag_deliver(qp, r, &m) : deliver_message(r, &m);
}

/* Complete a receive request for a write with immediate data; no data is delivered to it. */
static int notify_of_write(struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr)
{
	struct message m = message_of(qp, wr, NULL);

	return deliver_completion_only(r, &m);
}

static int write_to(struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
		    struct copy_list *from)
{
	struct copy_list to;
	int err;

	if (!(r->shm->access & IBV_ACCESS_REMOTE_WRITE))
		return deliver_refuse(r, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (!copy_list_check_remote(r->peer->seg, r->pd, r->shm->qpn, IBV_ACCESS_REMOTE_WRITE,
				    wr->remote_addr, wr->rkey, wr->length, &to))
		return deliver_refuse(r, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	if (has_imm(wr) && !deliver_ready(r))
		return EXECUTE_RNR;
	if (unlikely(qp->sq.forced_status))
		return EXECUTE_FORCED;
	if (in_flight_is_overtaken(r, &to))
		return EXECUTE_LATER;
	err = copy_put(r->peer, from, &to);
	if (err == -EFAULT)
		return deliver_fail_responder(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	if (err < 0)
		return deliver_copy_error(err);
	return has_imm(wr) ? notify_of_write(qp, r, wr) : IBV_WC_SUCCESS;
}

static bool is_atomic(const struct soft_wr *wr)
{
	return wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == IBV_WR_ATOMIC_WRITE;
}

/* Make the responder's checks for reads and atomics. */
static int check_response(const struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
			  uint32_t access, uint64_t length, struct copy_list *from)
{
	if (!(r->shm->access & access) || !r->shm->max_dest_rd ||
	    (is_atomic(wr) && wr->remote_addr % 8))
		return deliver_refuse(r, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (!copy_list_check_remote(r->peer->seg, r->pd, r->shm->qpn, access, wr->remote_addr,
				    wr->rkey, length, from))
		return deliver_refuse(r, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	if (unlikely(qp->sq.forced_status))
		return EXECUTE_FORCED;
	return in_flight_is_overtaken(r, from) ? EXECUTE_LATER : IBV_WC_SUCCESS;
}

static int read_from(const struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
		     struct copy_list *to)
{
	struct copy_list from;
	int err;

	err = check_response(qp, r, wr, IBV_ACCESS_REMOTE_READ, wr->length, &from);
	if (err)
		return err;
	err = copy_get(r->peer, to, &from);
	if (err == -EFAULT)
		return deliver_fail_responder(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	return deliver_copy_error(err);
}

static uint64_t atomic_result(const struct soft_wr *wr, uint64_t old)
{
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return old + wr->compare_add;
	return old == wr->compare_add ? wr->swap : old;
}

/* Execute an atomic: it is atomic only with other operations of devices (IBV_ATOMIC_HCA). */
static int change_remote(struct soft_remote *r, const struct soft_wr *wr,
			 const struct copy_list *there, uint64_t *old)
{
	struct copy_list here, remote = *there;
	uint64_t new;
	int err;

	here.count = 1;
	here.nulls = 0;
	here.iov[0] = (struct iovec){ old, sizeof(*old) };

	if (lock_take_live(&r->peer->seg->atomics) == LOCK_STUCK)
		return -EAGAIN;
	err = copy_get(r->peer, &here, &remote);
	if (!err) {
		new = atomic_result(wr, *old);
		here.count = 1;
		here.iov[0] = (struct iovec){ &new, sizeof(new) };
		remote = *there;
		err = copy_put(r->peer, &here, &remote);
	}
	lock_drop(&r->peer->seg->atomics);
	return err;
}

static int atomic_at(const struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
		     const struct copy_list *to)
{
	struct copy_list there;
	uint64_t old;
	int err;

	err = check_response(qp, r, wr, IBV_ACCESS_REMOTE_ATOMIC, sizeof(old), &there);
	if (err)
		return err;
	err = change_remote(r, wr, &there, &old);
	if (err == -EFAULT)
		return deliver_fail_responder(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	if (!err)
		copy_list_scatter(to, (uint8_t *)&old, sizeof(old));
	return deliver_copy_error(err);
}

static int atomic_write_to(const struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
			   struct copy_list *from)
{
	struct copy_list to;
	int err;

	err = check_response(qp, r, wr, IBV_ACCESS_REMOTE_WRITE, wr->length, &to);
	if (err)
		return err;
	if (lock_take_live(&r->peer->seg->atomics) == LOCK_STUCK)
		return EXECUTE_LATER;
	err = copy_put(r->peer, from, &to);
	lock_drop(&r->peer->seg->atomics);
	if (err == -EFAULT)
		return deliver_fail_responder(r, IBV_EVENT_QP_FATAL, IBV_WC_REM_OP_ERR);
	return deliver_copy_error(err);
}

/*
 * Execute a flush. Written data is in place when the write completes, so there is nothing to do.
 * The key is checked even if the length is 0.
 */
static int flush_at(const struct soft_qp *qp, struct soft_remote *r, const struct soft_wr *wr)
{
	struct shm_seg *seg = r->peer->seg;
	uint32_t access = (uint8_t)wr->swap << FLUSH_ACCESS_SHIFT;
	uint64_t addr = wr->remote_addr, length = wr->compare_add;
	const struct shm_mr *mr = key_find(seg, wr->rkey, true);

	if ((r->shm->access & access) != access || !r->shm->max_dest_rd)
		return deliver_refuse(r, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
	if (mr && wr->swap >> 8 == FLUSH_MR) {
		addr = mr->iova;
		length = mr->length;
	}
	if (!key_check(seg, r->pd, r->shm->qpn, access, addr, length, wr->rkey, true))
		return deliver_refuse(r, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
	if (unlikely(qp->sq.forced_status))
		return EXECUTE_FORCED;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return IBV_WC_SUCCESS;
}

/* Count the request in a counter of the responder, unless it will be retried. Returns @status. */
static inline int count_remote(struct soft_remote *r, const struct soft_wr *wr,
			       enum shm_counter_bit what, int status)
{
	if (status >= 0)
		count_request(r->peer->seg, r->shm, what, status, wr->length);
	return status;
}

static int execute_locked(struct soft_qp *qp, struct soft_remote *r, struct soft_wr *wr,
			  struct copy_list *local)
{
	int status;

	if (unlikely(r->xrc && (status = remote_check_xrc(r))))
		return deliver_fail_responder(
			r, status == IBV_WC_REM_OP_ERR ? IBV_EVENT_QP_FATAL : IBV_EVENT_QP_REQ_ERR,
			status);
	if (likely(!qp->sq.forced_status))
		deliver_establish(r);
	if (is_send(wr))
		return send_to(qp, r, wr, local);
	switch (wr->opcode) {
	case FLUSH_WR:
		return flush_at(qp, r, wr);
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return count_remote(r, wr, SHM_COUNT_REMOTE_WRITE, write_to(qp, r, wr, local));
	case IBV_WR_RDMA_READ:
		return count_remote(r, wr, SHM_COUNT_REMOTE_READ, read_from(qp, r, wr, local));
	case IBV_WR_ATOMIC_WRITE:
		return count_remote(r, wr, SHM_COUNT_REMOTE_WRITE,
				    atomic_write_to(qp, r, wr, local));
	default:
		return atomic_at(qp, r, wr, local);
	}
}

/* Check the rules for requests that have a response. */
static int check_request(const struct soft_qp *qp, const struct soft_wr *wr)
{
	if (is_atomic(wr) && wr->length != 8)
		return IBV_WC_LOC_LEN_ERR;
	if (wr->opcode != IBV_WR_SEND_WITH_INV && !qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	return IBV_WC_SUCCESS;
}

/* An atomic returns eight bytes, whatever the length of its SGEs. */
static void limit_atomic_length(struct soft_wr *wr)
{
	if ((wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	     wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) &&
	    wr->length > sizeof(uint64_t))
		wr->length = sizeof(uint64_t);
}

/* Make the requester's checks, which do not need the peer. */
static ALWAYS_INLINE int check_local(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *list)
{
	if (unlikely(wr->opcode > IBV_WR_RDMA_READ))
		limit_atomic_length(wr);
	if (wr->length > qp->max_msg_sz)
		return IBV_WC_LOC_LEN_ERR;
	if (wr->flags & IBV_SEND_INLINE) {
		list->iov[0].iov_base = wr->sge;
		list->iov[0].iov_len = wr->length;
		list->count = 1;
		list->nulls = 0;
	} else if (!copy_list_check(segment_own, qp->shm->pd,
				    execute_reads_back(wr->opcode) ? IBV_ACCESS_LOCAL_WRITE : 0,
				    wr->sge, wr->num_sge, wr->length, list))
		return IBV_WC_LOC_PROT_ERR;
	return wr->opcode < IBV_WR_RDMA_READ ? IBV_WC_SUCCESS : check_request(qp, wr);
}

int execute_check_local(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *list)
{
	return check_local(qp, wr, list);
}

/*
 * The status for the sender of an unreliable queue pair, which does not learn what happens at the
 * receiver.
 */
static int hide_failure(int status)
{
	return status == EXECUTE_LATER || status == EXECUTE_RNR ? status : IBV_WC_SUCCESS;
}

static inline int execute_connected(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *local)
{
	struct soft_remote *r;
	int status;

	r = remote_find(qp, wr);
	if (!r)
		return EXECUTE_NO_PEER;
	if (likely(remote_lock(qp, r))) {
		status = execute_locked(qp, r, wr, local);
		remote_unlock(r);
	} else
		status = r->stuck ? EXECUTE_LATER : EXECUTE_NO_PEER;
	if (unlikely(status == EXECUTE_NO_PEER))
		remote_drop(qp);
	else if (unlikely(status == EXECUTE_RNR) && qp->shm->type == IBV_QPT_UC && !remote_lags(r))
		status = IBV_WC_SUCCESS;
	return status;
}

static int change_window(struct soft_qp *qp, struct soft_wr *wr)
{
	int status = window_execute(qp, wr);

	return status == IBV_WC_SUCCESS && qp->sq.forced_status ? EXECUTE_FORCED : status;
}

int execute_request(struct soft_qp *qp, struct soft_wr *wr)
{
	struct copy_list local;
	int status;

	if (wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV)
		return change_window(qp, wr);
	status = check_local(qp, wr, &local);
	if (unlikely(status))
		return status;
	switch (qp->init.qp_type) {
	case IBV_QPT_UD:
		return datagram_send(qp, wr, &local);
	case IBV_QPT_RAW_PACKET:
		return raw_send(qp, wr, &local);
	case IBV_QPT_UC: /* only the sender's own checks refuse */
		if (unlikely(qp->sq.forced_status))
			return EXECUTE_FORCED;
		break;
	default:
		break;
	}
	status = execute_connected(qp, wr, &local);
	return likely(qp->init.qp_type != IBV_QPT_UC) ? status : hide_failure(status);
}

void execute_fail_remote(struct soft_qp *qp, const struct soft_wr *wr, int event)
{
	struct soft_remote *r = remote_find(qp, wr);

	if (!r || !remote_lock(qp, r))
		return;
	deliver_fail_responder(r, event, 0);
	remote_unlock(r);
}
