/*
 * Calling ibv_wr_*() for a list of requests
 *
 * 	ibv_wr_start()
 * 	wr_id, wr_flags; ibv_wr_send() ...; ibv_wr_set_ud_addr() ...; ibv_wr_set_sge() ...
 * 	...
 * 	ibv_wr_complete() or ibv_wr_abort()
 *
 * The list has the form that ibv_post_send() takes. ibv_post_send() allows at most max_send_sge
 * pieces of inline data, a builder any number.
 *
 * A trace does not distinguish a list of one element from a single one, or an empty list from none:
 * the simpler form is built.
 */
#include "replay/device/builder.h"

typedef void flush_fn(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, size_t length,
		      uint8_t type, uint8_t level);

/* The member that newer headers have after the last one of older headers. */
static flush_fn *flush_of(const struct ibv_qp_ex *qp)
{
	return *(flush_fn *const *)((const char *)qp + BUILDER_FLUSH_OFFSET);
}

bool builder_has(const struct ibv_qp_ex *qp, int opcode, bool with_flush)
{
	switch (opcode) {
	case BUILDER_FLUSH:
		return with_flush && flush_of(qp);
	case IBV_WR_SEND:
		return qp->wr_send;
	case IBV_WR_SEND_WITH_IMM:
		return qp->wr_send_imm;
	case IBV_WR_SEND_WITH_INV:
		return qp->wr_send_inv;
	case IBV_WR_LOCAL_INV:
		return qp->wr_local_inv;
	case IBV_WR_RDMA_WRITE:
		return qp->wr_rdma_write;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return qp->wr_rdma_write_imm;
	case IBV_WR_RDMA_READ:
		return qp->wr_rdma_read;
	case IBV_WR_ATOMIC_WRITE:
		return qp->wr_atomic_write;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return qp->wr_atomic_cmp_swp;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return qp->wr_atomic_fetch_add;
	case IBV_WR_BIND_MW:
		return qp->wr_bind_mw;
	default:
		return false;
	}
}

static void build_operation(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr)
{
	switch ((int)wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, wr->imm_data);
		break;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qp, wr->invalidate_rkey);
		break;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qp, wr->invalidate_rkey);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_WRITE:
		ibv_wr_atomic_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr,
				    (void *)(uintptr_t)wr->sg_list->addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	case BUILDER_FLUSH:
		flush_of(qp)(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
			     wr->wr.atomic.compare_add, (uint8_t)wr->wr.atomic.swap,
			     (uint8_t)(wr->wr.atomic.swap >> 8));
		break;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(qp, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		break;
	default: /* builder_has() */
		break;
	}
}

static void build_inline(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr,
			 struct ibv_data_buf *bufs)
{
	if (wr->num_sge == 1) {
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)wr->sg_list->addr,
				       wr->sg_list->length);
		return;
	}
	for (int i = 0; i < wr->num_sge; i++)
		bufs[i] = (struct ibv_data_buf){ (void *)(uintptr_t)wr->sg_list[i].addr,
						 wr->sg_list[i].length };
	ibv_wr_set_inline_data_list(qp, (size_t)wr->num_sge, bufs);
}

static void build_data(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr,
		       struct ibv_data_buf *bufs)
{
	if (wr->opcode == IBV_WR_ATOMIC_WRITE || (int)wr->opcode == BUILDER_FLUSH ||
	    wr->num_sge < 1)
		return;
	if (wr->send_flags & IBV_SEND_INLINE)
		build_inline(qp, wr, bufs);
	else if (wr->num_sge == 1)
		ibv_wr_set_sge(qp, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
	else
		ibv_wr_set_sge_list(qp, (size_t)wr->num_sge, wr->sg_list);
}

static void build_request(struct ibv_qp_ex *qp, const struct ibv_send_wr *wr,
			  struct ibv_data_buf *bufs)
{
	qp->wr_id = wr->wr_id;
	qp->wr_flags = wr->send_flags; /* also INLINE: rdma_rxe uses that flag */
	build_operation(qp, wr);
	if (qp->qp_base.qp_type == IBV_QPT_UD && qp->wr_set_ud_addr)
		ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	if (qp->qp_base.qp_type == IBV_QPT_XRC_SEND && qp->wr_set_xrc_srqn)
		ibv_wr_set_xrc_srqn(qp, wr->qp_type.xrc.remote_srqn);
	build_data(qp, wr, bufs);
}

int builder_run(struct ibv_qp_ex *qp, const struct ibv_send_wr *list, uint32_t n,
		struct ibv_data_buf *bufs, bool complete)
{
	ibv_wr_start(qp);
	for (uint32_t i = 0; i < n; i++)
		build_request(qp, &list[i], bufs);
	if (complete)
		return ibv_wr_complete(qp);
	ibv_wr_abort(qp);
	return 0;
}
