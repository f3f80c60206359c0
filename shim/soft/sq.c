/*
 * Send queues: post, carry out in order, complete
 *
 *	retired         next              head       retired + depth
 *	   | carried out  | to be carried   | free        |
 *
 * A request keeps its slot until a completion at or behind it was polled,
 * as on hardware: who never asks for one fills the queue for good.
 *
 * What cannot be carried out at once, because the receiver is not ready or
 * nobody answers, stays at the head with a time limit, and pending.c tries
 * it again. Everything behind it waits.
 */
#include "shim/soft/sq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/soft/ah.h"
#include "shim/soft/carry.h"
#include "shim/soft/deliver.h"
#include "shim/soft/domain.h"
#include "shim/soft/fault.h"
#include "shim/soft/mw.h"
#include "shim/soft/pending.h"
#include "shim/soft/sq_fault.h"

int sq_make(struct soft_sq *sq, struct ibv_pd *pd, const struct ibv_qp_cap *cap)
{
	uint32_t payload = cap->max_send_sge * sizeof(struct ibv_sge);
	uint32_t size = 1;
	int err;

	if (payload < sizeof(uint64_t))		/* of ibv_wr_atomic_write() */
		payload = sizeof(uint64_t);
	if (payload < cap->max_inline_data)
		payload = cap->max_inline_data;
	while (size < cap->max_send_wr)
		size <<= 1;
	sq->depth = cap->max_send_wr;
	sq->mask = size - 1;
	sq->stride = (sizeof(struct soft_wr) + payload + 15) & ~15u;
	err = domain_alloc(pd, (size + 1ul) * sq->stride, DOMAIN_SEND_QUEUE,
			   &sq->memory);
	if (!err)
		sq->wrs = sq->memory.mem;
	return err;
}

void sq_free(struct soft_sq *sq)
{
	domain_free(&sq->memory);
	sq->wrs = NULL;
}

void sq_reset(struct soft_sq *sq)
{
	__atomic_store_n(&sq->retired, 0, __ATOMIC_RELAXED);
	sq->head = 0;
	sq->next = 0;
	sq->wait = WAIT_NONE;
	sq->build.err = EINVAL;		/* what was begun is gone */
}

static enum ibv_qp_state state_of(const struct soft_qp *qp)
{
	return __atomic_load_n(&qp->shm->state, __ATOMIC_SEQ_CST);
}

static const uint8_t wc_opcode[] = {
	[IBV_WR_RDMA_WRITE]		= IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= IBV_WC_RDMA_WRITE,
	[IBV_WR_SEND]			= IBV_WC_SEND,
	[IBV_WR_SEND_WITH_IMM]		= IBV_WC_SEND,
	[IBV_WR_RDMA_READ]		= IBV_WC_RDMA_READ,
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= IBV_WC_FETCH_ADD,
	[IBV_WR_LOCAL_INV]		= IBV_WC_LOCAL_INV,
	[IBV_WR_BIND_MW]		= IBV_WC_BIND_MW,
	[IBV_WR_SEND_WITH_INV]		= IBV_WC_SEND,
	[IBV_WR_ATOMIC_WRITE]		= IBV_WC_ATOMIC_WRITE,
};

/* The request at next is done. False if its completion could not be told. */
static bool complete(struct soft_qp *qp, const struct soft_wr *wr, int status)
{
	uint32_t pos = qp->sq.next++;
	struct shm_cqe *cqe;

	if (status == IBV_WC_SUCCESS && !(wr->flags & IBV_SEND_SIGNALED))
		return true;
	cqe = cqring_begin(&qp->send_cq->ring);
	if (!cqe)
		return false;
	cqe->status = status;
	cqe->opcode = wc_opcode[wr->opcode];
	cqe->wr_id = wr->wr_id;
	cqe->byte_len = wr->length;
	cqe->qpn = qp->shm->qpn;
	cqe->qp = qp->shm - fabric_seg->qp;
	cqe->retire = pos + 1;
	if (unlikely(status))
		cqe->vendor_err = qp->sq.vendor_err;
	cqring_commit(&qp->send_cq->ring, cqe, status != IBV_WC_SUCCESS);
	return true;
}

static void flush(struct soft_qp *qp)
{
	qp->sq.vendor_err = 0;
	while (qp->sq.next != qp->sq.head)
		complete(qp, sq_slot(&qp->sq, qp->sq.next), IBV_WC_WR_FLUSH_ERR);
	qp->sq.wait = WAIT_NONE;
}

void sq_fail(struct soft_qp *qp)
{
	lock_take(&qp->shm->rq.lock);
	deliver_fail(qp);
	lock_drop(&qp->shm->rq.lock);
	flush(qp);
}

static bool is_unreliable(const struct soft_qp *qp)
{
	return qp->shm->type == IBV_QPT_UC || qp->shm->type == IBV_QPT_UD ||
		qp->shm->type == IBV_QPT_RAW_PACKET;
}

/*
 * An error of our own end: an unreliable send queue stops, and what it
 * receives is not concerned (SQE); a reliable one takes both down.
 */
static void stop(struct soft_qp *qp)
{
	if (!is_unreliable(qp)) {
		sq_fail(qp);
		return;
	}
	lock_take(&qp->shm->rq.lock);
	if (state_of(qp) == IBV_QPS_RTS)
		__atomic_store_n(&qp->shm->state, IBV_QPS_SQE,
				 __ATOMIC_SEQ_CST);
	lock_drop(&qp->shm->rq.lock);
	flush(qp);
}

#define COPY_PATIENCE	10000000000ull	/* ns */

/* From IBA 9.7.5.2.8, in tens of microseconds. */
static const uint32_t rnr_timer[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768, 49152,
};

uint64_t sq_rnr_ns(uint8_t timer)
{
	return rnr_timer[timer & 31] * 10000ull;
}

/* IBA 9.7.6.1.3 */
static uint64_t transport_patience(const struct ibv_qp_attr *attr)
{
	return attr->timeout ? (attr->retry_cnt + 1) *
		(4096ull << (attr->timeout & 31)) : UINT64_MAX;
}

/*
 * How long the head may wait; ns, or UINT64_MAX. A process that must copy
 * for us has other things to do, which no adapter has.
 */
static uint64_t patience(struct soft_qp *qp, enum soft_wait wait)
{
	const struct ibv_qp_attr *attr = &qp->attr;
	uint64_t ns = transport_patience(attr);

	if (wait == WAIT_PEER)
		return ns;
	if (is_unreliable(qp))
		return UINT64_MAX;	/* carry() gives it up */
	if (wait == WAIT_COPY)
		return ns > COPY_PATIENCE ? ns : COPY_PATIENCE;
	if (attr->rnr_retry == 7)
		return UINT64_MAX;
	return attr->rnr_retry * sq_rnr_ns(qp->remote.shm->min_rnr_timer);
}

/* False when it has waited long enough. */
static bool may_wait(struct soft_qp *qp, enum soft_wait wait)
{
	struct soft_sq *sq = &qp->sq;
	uint64_t now = process_now(), ns;

	if (sq->wait != wait) {
		ns = patience(qp, wait);
		sq->wait = wait;
		sq->wait_until = ns == UINT64_MAX ? 0 : now + ns;
	}
	if (sq->wait_until && now >= sq->wait_until)
		return false;
	pending_add(qp);
	return true;
}

/* False when the rest must wait. */
static bool run_one(struct soft_qp *qp)
{
	struct soft_wr *wr = sq_slot(&qp->sq, qp->sq.next);
	int status = unlikely(fault_any) ? sq_fault_carry(qp, wr) :
		carry(qp, wr);

	if (unlikely(status == CARRY_HELD))
		return false;
	if (unlikely(status == CARRY_RNR)) {
		if (may_wait(qp, WAIT_RNR))
			return false;
		status = IBV_WC_RNR_RETRY_EXC_ERR;
	} else if (unlikely(status == CARRY_NO_PEER)) {
		if (may_wait(qp, WAIT_PEER))
			return false;
		status = IBV_WC_RETRY_EXC_ERR;
	} else if (unlikely(status == CARRY_LATER)) {
		if (may_wait(qp, WAIT_COPY))
			return false;
		status = IBV_WC_RETRY_EXC_ERR;
	}
	qp->sq.wait = WAIT_NONE;
	if (unlikely(!complete(qp, wr, status)))
		sq_fail(qp);
	else if (unlikely(status != IBV_WC_SUCCESS))
		stop(qp);
	return true;
}

void sq_run(struct soft_qp *qp)
{
	while (qp->sq.next != qp->sq.head) {
		switch (state_of(qp)) {
		case IBV_QPS_RTS:
			if (!run_one(qp))
				return;
			break;
		case IBV_QPS_SQE:
			flush(qp);
			break;
		case IBV_QPS_ERR:
			/* who failed it may have died before its end */
			sq_fail(qp);
			break;
		default:
			/* drained: until it is RTS again, or failed */
			if (qp->sq.wait == WAIT_NONE)
				qp->sq.wait = WAIT_STATE;
			pending_add(qp);
			return;
		}
	}
}

#define BIT(opcode)	(1u << IBV_WR_##opcode)

enum {
	OPS_DATAGRAM	= BIT(SEND) | BIT(SEND_WITH_IMM),
	OPS_UNRELIABLE	= OPS_DATAGRAM | BIT(RDMA_WRITE) |
			  BIT(RDMA_WRITE_WITH_IMM) | BIT(SEND_WITH_INV) |
			  BIT(BIND_MW) | BIT(LOCAL_INV),
	OPS_RELIABLE	= OPS_UNRELIABLE | BIT(RDMA_READ) |
			  BIT(ATOMIC_CMP_AND_SWP) | BIT(ATOMIC_FETCH_AND_ADD) |
			  BIT(ATOMIC_WRITE),
};

/* From the table in ibv_wr_post(3). */
uint32_t sq_opcodes(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return OPS_RELIABLE;
	case IBV_QPT_UC:
		return OPS_UNRELIABLE;
	case IBV_QPT_UD:
		return OPS_DATAGRAM;
	case IBV_QPT_RAW_PACKET:
		return BIT(SEND);
	default:
		return 0;
	}
}

int sq_check_state(const struct soft_qp *qp)
{
	enum ibv_qp_state state = state_of(qp);

	return state < IBV_QPS_RTS || state == IBV_QPS_UNKNOWN ||
		!qp->sq.wrs ? EINVAL : 0;
}

int sq_set_sge(const struct soft_qp *qp, struct soft_wr *wr,
	       const struct ibv_sge *sge, uint64_t num)
{
	uint64_t length = 0;
	uint32_t i;

	if (num > qp->init.cap.max_send_sge)
		return EINVAL;
	for (i = 0; i < num; i++) {
		wr->sge[i] = sge[i];
		length += sge[i].length;
	}
	wr->num_sge = num;
	wr->length = length < UINT32_MAX ? length : UINT32_MAX;
	return 0;
}

int sq_add_inline(const struct soft_qp *qp, struct soft_wr *wr,
		  const void *data, uint64_t length)
{
	if (sq_reads(wr->opcode) ||
	    length > qp->init.cap.max_inline_data - wr->length)
		return EINVAL;
	wr->flags |= IBV_SEND_INLINE;
	if (length)
		memcpy((uint8_t *)wr->sge + wr->length, data, length);
	wr->length += length;
	return 0;
}

static int set_inline(const struct soft_qp *qp, struct soft_wr *to,
		      const struct ibv_send_wr *wr)
{
	int i, err;

	err = sq_add_inline(qp, to, NULL, 0);
	for (i = 0; !err && i < wr->num_sge; i++)
		err = sq_add_inline(qp, to, (void *)wr->sg_list[i].addr,
				    wr->sg_list[i].length);
	return err;
}

static int set_datagram(struct soft_wr *to, const struct ibv_send_wr *wr)
{
	if (!wr->wr.ud.ah)
		return EINVAL;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM)
		to->imm = wr->imm_data;
	to->ah = to_ah(wr->wr.ud.ah);
	to->remote_qpn = wr->wr.ud.remote_qpn;
	to->remote_qkey = wr->wr.ud.remote_qkey;
	return 0;
}

static int set_target(const struct soft_qp *qp, struct soft_wr *to,
		      const struct ibv_send_wr *wr)
{
	if (qp->ex.qp_base.qp_type == IBV_QPT_UD)
		return set_datagram(to, wr);
	switch (wr->opcode) {
	case IBV_WR_BIND_MW:
		return mw_set(to, wr->bind_mw.mw, wr->bind_mw.rkey,
			      &wr->bind_mw.bind_info);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		to->remote_addr = wr->wr.atomic.remote_addr;
		to->rkey = wr->wr.atomic.rkey;
		to->compare_add = wr->wr.atomic.compare_add;
		to->swap = wr->wr.atomic.swap;
		return 0;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		to->imm = wr->invalidate_rkey;
		return 0;
	case IBV_WR_SEND_WITH_IMM:
		to->imm = wr->imm_data;
		return 0;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		to->imm = wr->imm_data;
		/* fall through */
	default:
		to->remote_addr = wr->wr.rdma.remote_addr;
		to->rkey = wr->wr.rdma.rkey;
		return 0;
	}
}

/* Neither a window nor its key is data. */
static bool has_data(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_BIND_MW && wr->opcode != IBV_WR_LOCAL_INV;
}

static int post_one(struct soft_qp *qp, const struct ibv_send_wr *wr)
{
	struct soft_wr *to = sq_slot(&qp->sq, qp->sq.head);
	int err;

	if (sq_full(&qp->sq, qp->sq.head))
		return ENOMEM;
	if (wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > qp->init.cap.max_send_sge ||
	    wr->opcode > 31 || !(qp->opcodes & 1u << wr->opcode))
		return EINVAL;
	sq_begin(qp, to, wr->wr_id, wr->opcode, wr->send_flags);
	if (qp->init.qp_type == IBV_QPT_XRC_SEND)
		to->srqn = wr->qp_type.xrc.remote_srqn;
	err = set_target(qp, to, wr);
	if (err || !has_data(wr))
		return err;
	return wr->send_flags & IBV_SEND_INLINE ? set_inline(qp, to, wr) :
		sq_set_sge(qp, to, wr->sg_list, wr->num_sge);
}

int soft_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	struct soft_qp *qp = to_qp(ibqp);
	int err;

	err = soft_enter(ibqp->context, "post_send");
	if (unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	if (unlikely(!sq_take(&qp->sq))) {
		*bad_wr = wr;
		return EINVAL;
	}
	err = sq_check_state(qp);
	for (; !err && wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (err)
			break;
		sq_accept(qp, qp->sq.head + 1);
	}
	lock_drop(&qp->sq.lock);
	if (err)
		*bad_wr = wr;
	return err;
}
