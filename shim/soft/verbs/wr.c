/*
 * The builders: ibv_wr_start() ... ibv_wr_complete()
 *
 *	head              tail
 *	   | built so far   | the next builder's slot
 *
 * Between start and complete the thread holds the lock of the send queue. A builder begins a
 * request in the next slot; setters add to the request. No request is executed, or visible to
 * others, until complete moves head to tail.
 *
 * The first error is stored. Later requests are written to a spare slot, and complete drops all
 * requests and returns the error.
 *
 * Source: ibv_wr_post(3).
 */
#include "shim/soft/verbs/wr.h"

#include "shim/soft/fabric/flush.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/enter.h"
#include "shim/soft/verbs/post.h"

/* The setters that a request may have, and those that it must have. */
enum {
	SET_DATA = 1,
	SET_UD_ADDR = 2,
	SET_XRC_SRQN = 4,
};

static struct soft_qp *qp_of(struct ibv_qp_ex *ex)
{
	return container(ex, struct soft_qp, ex);
}

static void fail_build(struct soft_qp *qp, int err)
{
	if (!qp->sq.build.err)
		qp->sq.build.err = err;
}

/* Check that the last request has had all setters that it needs. */
static void finish_request(struct soft_qp *qp)
{
	if (unlikely(qp->sq.build.must))
		fail_build(qp, EINVAL);
}

static uint8_t setters_of(const struct soft_qp *qp)
{
	switch (qp->init.qp_type) {
	case IBV_QPT_UD:
		return SET_UD_ADDR;
	case IBV_QPT_XRC_SEND:
		return SET_XRC_SRQN;
	default:
		return 0;
	}
}

/* Begin a request that needs no setters. */
static struct soft_wr *begin_bare(struct ibv_qp_ex *ex, uint32_t opcode)
{
	struct soft_qp *qp = qp_of(ex);
	struct soft_sq *sq = &qp->sq;
	struct soft_wr *wr = sq_slot(sq, sq->build.tail);

	finish_request(qp);
	if (unlikely(sq_full(sq, sq->build.tail))) {
		fail_build(qp, ENOMEM);
		wr = sq_spare_slot(sq);
	} else {
		sq->build.tail++;
	}
	post_begin(qp, wr, ex->wr_id, opcode, ex->wr_flags);
	sq->build.wr = wr;
	sq->build.may = 0;
	sq->build.must = 0;
	return wr;
}

static struct soft_wr *begin_request(struct ibv_qp_ex *ex, uint32_t opcode)
{
	struct soft_wr *wr = begin_bare(ex, opcode);
	struct soft_qp *qp = qp_of(ex);

	qp->sq.build.must = setters_of(qp);
	qp->sq.build.may = SET_DATA | qp->sq.build.must;
	return wr;
}

static struct soft_wr *begin_rdma(struct ibv_qp_ex *ex, uint32_t opcode, uint32_t rkey,
				  uint64_t remote_addr)
{
	struct soft_wr *wr = begin_request(ex, opcode);

	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	return wr;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin_request(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	begin_request(ex, IBV_WR_SEND_WITH_IMM)->imm = imm_data;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	begin_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->imm = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct soft_wr *wr = begin_rdma(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	wr->compare_add = compare;
	wr->swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	begin_rdma(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr)->compare_add = add;
}

/* @atomic_wr: eight bytes, which the caller may reuse after the call. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	struct soft_wr *wr = begin_rdma(ex, IBV_WR_ATOMIC_WRITE, rkey, remote_addr);

	qp_of(ex)->sq.build.may &= ~SET_DATA;
	wr->flags |= IBV_SEND_INLINE;
	wr->length = sizeof(uint64_t);
	memcpy(wr->sge, atomic_wr, sizeof(uint64_t));
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin_request(ex, IBV_WR_SEND_WITH_INV)->imm = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin_bare(ex, IBV_WR_LOCAL_INV)->imm = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct soft_wr *wr = begin_bare(ex, IBV_WR_BIND_MW);
	int err = window_set_bind(wr, mw, rkey, bind_info);

	if (unlikely(err))
		fail_build(qp_of(ex), err);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len,
		     uint8_t type, uint8_t level)
{
	struct soft_wr *wr = begin_rdma(ex, FLUSH_WR, rkey, remote_addr);

	qp_of(ex)->sq.build.may &= ~SET_DATA;
	if (!type || type & ~(FLUSH_GLOBAL | FLUSH_PERSISTENT) || level > FLUSH_MR)
		fail_build(qp_of(ex), EINVAL);
	wr->compare_add = len;
	wr->swap = level << 8 | type;
}

/* The request to which @setter applies; each setter may be called once per request. */
static struct soft_wr *set_part(struct ibv_qp_ex *ex, uint8_t setter)
{
	struct soft_qp *qp = qp_of(ex);

	if (unlikely(!(qp->sq.build.may & setter))) {
		fail_build(qp, EINVAL);
		return sq_spare_slot(&qp->sq);
	}
	qp->sq.build.may &= ~setter;
	qp->sq.build.must &= ~setter;
	return qp->sq.build.wr;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct soft_wr *wr = set_part(ex, SET_UD_ADDR);

	if (!ah)
		fail_build(qp_of(ex), EINVAL);
	wr->ah = container(ah, struct soft_ah, ah);
	wr->remote_qpn = remote_qpn;
	wr->remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	set_part(ex, SET_XRC_SRQN)->srqn = remote_srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	int err = post_set_sge(qp_of(ex), set_part(ex, SET_DATA), sg_list, num_sge);

	if (unlikely(err))
		fail_build(qp_of(ex), err);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { addr, length, lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct soft_wr *wr = set_part(ex, SET_DATA);
	int err = post_add_inline(qp_of(ex), wr, NULL, 0);
	size_t i;

	for (i = 0; !err && i < num_buf; i++)
		err = post_add_inline(qp_of(ex), wr, buf_list[i].addr, buf_list[i].length);
	if (unlikely(err))
		fail_build(qp_of(ex), err);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { addr, length };

	wr_set_inline_data_list(ex, 1, &buf);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct soft_qp *qp = qp_of(ex);
	struct soft_sq *sq = &qp->sq;

	if (unlikely(!soft_ours(ex->qp_base.context))) {
		sq->build.err = EIO;
		return;
	}
	if (unlikely(!sq_lock(sq))) {
		fail_build(qp, EINVAL);
		return;
	}
	__atomic_store_n(&sq->build.thread, pthread_self(), __ATOMIC_RELAXED);
	sq->build.err = 0;
	sq->build.tail = sq->head;
	sq->build.may = 0;
	sq->build.must = 0;
}

static bool holds_lock(const struct soft_qp *qp)
{
	return qp->sq.build.thread == pthread_self();
}

static void end_build(struct soft_qp *qp)
{
	__atomic_store_n(&qp->sq.build.thread, 0, __ATOMIC_RELAXED);
	lock_drop(&qp->sq.lock);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct soft_qp *qp = qp_of(ex);
	int err;

	if (unlikely(!soft_ours(ex->qp_base.context)))
		return EIO;
	if (unlikely(!holds_lock(qp)))
		return EINVAL;
	finish_request(qp);
	err = qp->sq.build.err;
	if (likely(!err))
		err = soft_enter(ex->qp_base.context, "wr_complete");
	if (likely(!err))
		err = post_check_state(qp);
	if (likely(!err))
		pending_accept(qp, qp->sq.build.tail);
	end_build(qp);
	return err;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct soft_qp *qp = qp_of(ex);

	if (soft_ours(ex->qp_base.context) && holds_lock(qp))
		end_build(qp);
}

/*
 * The builder of an operation, and its function; flag, opcode and member have the operation's name.
 */
#define BUILDERS(V)                                  \
	V(RDMA_WRITE, wr_rdma_write)                 \
	V(RDMA_WRITE_WITH_IMM, wr_rdma_write_imm)    \
	V(SEND, wr_send)                             \
	V(SEND_WITH_IMM, wr_send_imm)                \
	V(RDMA_READ, wr_rdma_read)                   \
	V(ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp)     \
	V(ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add) \
	V(LOCAL_INV, wr_local_inv)                   \
	V(BIND_MW, wr_bind_mw)                       \
	V(SEND_WITH_INV, wr_send_inv)                \
	V(ATOMIC_WRITE, wr_atomic_write)

int wr_check(enum ibv_qp_type type, uint64_t send_ops_flags)
{
	uint32_t opcodes = post_opcodes(type);

	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		send_ops_flags &= ~(uint64_t)FLUSH_WITH;
#define V(op, function)                  \
	if (opcodes & 1u << IBV_WR_##op) \
		send_ops_flags &= ~(uint64_t)IBV_QP_EX_WITH_##op;
	BUILDERS(V)
#undef V
	return send_ops_flags ? EOPNOTSUPP : 0;
}

static void init_setters(struct soft_qp *qp)
{
	struct ibv_qp_ex *ex = &qp->ex;
	uint8_t setters = setters_of(qp);

	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (setters & SET_UD_ADDR)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	if (setters & SET_XRC_SRQN)
		ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
}

void wr_init(struct soft_qp *qp, uint64_t send_ops_flags)
{
	struct ibv_qp_ex *ex = &qp->ex;

	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	init_setters(qp);
#define V(op, function)                           \
	if (send_ops_flags & IBV_QP_EX_WITH_##op) \
		ex->function = function;
	BUILDERS(V)
#undef V
	if (send_ops_flags & FLUSH_WITH)
		qp->wr_flush = wr_flush;
}

EXPORT struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *ibqp)
{
	struct soft_qp *qp = to_qp(ibqp);

	return qp->ex.wr_start ? &qp->ex : NULL;
}
