/*
 * Posting send requests
 *
 * Each request is written into the slot at sq.head, and accepted before the next one. The builders
 * (wr.c) fill in their requests by the same functions.
 *
 * Source: ibv_post_send(3); opcodes of each transport: ibv_wr_post(3).
 */
#include "shim/soft/verbs/post.h"

#include <errno.h>
#include <string.h>

#include "shim/soft/transport/execute.h"
#include "shim/soft/transport/grh.h"
#include "shim/soft/transport/pending.h"
#include "shim/soft/transport/sq.h"
#include "shim/soft/transport/window.h"
#include "shim/soft/verbs/enter.h"

#define BIT(opcode) (1u << IBV_WR_##opcode)

enum {
	OPS_DATAGRAM = BIT(SEND) | BIT(SEND_WITH_IMM),
	OPS_UNRELIABLE = OPS_DATAGRAM | BIT(RDMA_WRITE) | BIT(RDMA_WRITE_WITH_IMM) |
			 BIT(SEND_WITH_INV) | BIT(BIND_MW) | BIT(LOCAL_INV),
	OPS_RELIABLE = OPS_UNRELIABLE | BIT(RDMA_READ) | BIT(ATOMIC_CMP_AND_SWP) |
		       BIT(ATOMIC_FETCH_AND_ADD) | BIT(ATOMIC_WRITE),
};

/* Table of ibv_wr_post(3). */
uint32_t post_opcodes(enum ibv_qp_type type)
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

int post_add_inline(const struct soft_qp *qp, struct soft_wr *wr, const void *data, uint64_t length)
{
	if (execute_reads_back(wr->opcode) || length > qp->init.cap.max_inline_data - wr->length)
		return EINVAL;
	wr->flags |= IBV_SEND_INLINE;
	if (length)
		memcpy((uint8_t *)wr->sge + wr->length, data, length);
	wr->length += length;
	return 0;
}

static int set_inline(const struct soft_qp *qp, struct soft_wr *to, const struct ibv_send_wr *wr)
{
	int i = 0, err;

	if (!wr->num_sge)
		return post_add_inline(qp, to, NULL, 0);
	do
		err = post_add_inline(qp, to, (void *)wr->sg_list[i].addr, wr->sg_list[i].length);
	while (!err && ++i < wr->num_sge);
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

static int set_target(const struct soft_qp *qp, struct soft_wr *to, const struct ibv_send_wr *wr)
{
	if (qp->ex.qp_base.qp_type == IBV_QPT_UD)
		return set_datagram(to, wr);
	switch (wr->opcode) {
	case IBV_WR_BIND_MW:
		return window_set_bind(to, wr->bind_mw.mw, wr->bind_mw.rkey,
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

/* Does the request have data? Binding a window and invalidating a key have none. */
static bool has_data(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_BIND_MW && wr->opcode != IBV_WR_LOCAL_INV;
}

static int post_send_request(struct soft_qp *qp, const struct ibv_send_wr *wr)
{
	struct soft_wr *to = sq_slot(&qp->sq, qp->sq.head);
	int err;

	if (sq_full(&qp->sq, qp->sq.head))
		return ENOMEM;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->init.cap.max_send_sge ||
	    wr->opcode > 31 || !(qp->opcodes & 1u << wr->opcode))
		return EINVAL;
	post_begin(qp, to, wr->wr_id, wr->opcode, wr->send_flags);
	if (qp->init.qp_type == IBV_QPT_XRC_SEND)
		to->srqn = wr->qp_type.xrc.remote_srqn;
	err = set_target(qp, to, wr);
	if (err || !has_data(wr))
		return err;
	return wr->send_flags & IBV_SEND_INLINE ? set_inline(qp, to, wr)
						: post_set_sge(qp, to, wr->sg_list, wr->num_sge);
}

int soft_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct soft_qp *qp = to_qp(ibqp);
	int err;

	err = soft_enter(ibqp->context, "post_send");
	if (unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	if (unlikely(!sq_lock(&qp->sq))) {
		*bad_wr = wr;
		return EINVAL;
	}
	err = post_check_state(qp);
	for (; !err && wr; wr = wr->next) {
		err = post_send_request(qp, wr);
		if (err)
			break;
		pending_accept(qp, qp->sq.head + 1);
	}
	lock_drop(&qp->sq.lock);
	if (err)
		*bad_wr = wr;
	return err;
}
