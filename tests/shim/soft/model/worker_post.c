/*
 * Posting: the requests of a step as verbs.h has them
 */
#include "tests/shim/soft/model/worker.h"

static struct ibv_sge local_sge(const struct worker *w, const struct piece *p)
{
	const struct keys *keys = &w->board->mr[w->proc][p->mr];
	uint32_t key = p->key == KEY_RIGHT   ? keys->lkey
		       : p->key == KEY_OTHER ? keys->rkey
					     : keys->old_lkey;

	return (struct ibv_sge){ (uintptr_t)w->board->area[w->proc] + p->off, p->len, key };
}

static uint32_t remote_key(const struct keys *keys, int which)
{
	return which == KEY_RIGHT ? keys->rkey : which == KEY_OTHER ? keys->lkey : keys->old_rkey;
}

static uint32_t qkey_of(const struct request *q)
{
	return q->other_qkey ? QKEY + 1 : QKEY;
}

/* @proc: whose memory the remote piece is in. @ah: of datagrams, or NULL. */
static void set_remote(const struct worker *w, const struct request *q, int proc, struct ibv_ah *ah,
		       struct ibv_send_wr *wr)
{
	uint64_t addr = (uintptr_t)w->board->area[proc] + q->remote.off;
	uint32_t rkey = remote_key(&w->board->mr[proc][q->remote.mr], q->remote.key);

	if (ah) {
		wr->wr.ud.ah = ah;
		wr->wr.ud.remote_qpn = w->board->qpn[q->dest];
		wr->wr.ud.remote_qkey = qkey_of(q);
	} else if (q->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   q->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = addr;
		wr->wr.atomic.rkey = rkey;
		wr->wr.atomic.compare_add = q->compare_add;
		wr->wr.atomic.swap = q->swap;
	} else {
		wr->wr.rdma.remote_addr = addr;
		wr->wr.rdma.rkey = rkey;
	}
}

static int set_sges(const struct worker *w, const struct request *q, struct ibv_sge *sge)
{
	int i;

	for (i = 0; i < q->num_sge && i < SGE_MAX; i++)
		sge[i] = local_sge(w, &q->sge[i]);
	return q->num_sge;
}

static void begin_wr(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	ex->wr_id = wr->wr_id;
	ex->wr_flags = wr->send_flags & ~(unsigned int)IBV_SEND_INLINE;
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(ex);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(ex, wr->imm_data);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(ex, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	default:
		ibv_wr_atomic_fetch_add(ex, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	}
}

static void set_data(struct ibv_qp_ex *ex, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf buf[SGE_MAX + 1];
	int i;

	if (wr->send_flags & IBV_SEND_INLINE) {
		for (i = 0; i < wr->num_sge; i++) {
			buf[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
			buf[i].length = wr->sg_list[i].length;
		}
		ibv_wr_set_inline_data_list(ex, wr->num_sge, buf);
	} else if (wr->num_sge == 1)
		ibv_wr_set_sge(ex, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
	else
		ibv_wr_set_sge_list(ex, wr->num_sge, wr->sg_list);
}

static int build_wr(struct ibv_qp *qp, const struct ibv_send_wr *wr, bool abort)
{
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);

	ibv_wr_start(ex);
	for (; wr; wr = wr->next) {
		begin_wr(ex, wr);
		set_data(ex, wr);
		if (qp->qp_type == IBV_QPT_UD)
			ibv_wr_set_ud_addr(ex, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
	}
	if (!abort)
		return ibv_wr_complete(ex);
	ibv_wr_abort(ex);
	return 0;
}

void worker_post_send(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_sge sge[LIST_MAX][SGE_MAX + 1] = { 0 };
	struct ibv_send_wr wr[LIST_MAX] = { 0 }, *bad = NULL;
	int i;

	for (i = 0; i < s->num_wr; i++) {
		wr[i].wr_id = s->wr[i].wr_id;
		wr[i].opcode = s->wr[i].opcode;
		wr[i].send_flags = s->wr[i].flags;
		wr[i].imm_data = s->wr[i].imm;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = set_sges(w, &s->wr[i], sge[i]);
		wr[i].next = i + 1 < s->num_wr ? &wr[i + 1] : NULL;
		set_remote(w, &s->wr[i], s->arg.send.peer, w->ah[s->slot], &wr[i]);
	}
	if (s->arg.send.how != HOW_LIST) {
		r->ret = build_wr(w->qp[s->slot], wr, s->arg.send.how == HOW_ABORT);
		return;
	}
	r->ret = ibv_post_send(w->qp[s->slot], wr, &bad);
	r->bad = r->ret ? bad - wr : NONE;
}

void worker_post_recv(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_sge sge[LIST_MAX][SGE_MAX + 1] = { 0 };
	struct ibv_recv_wr wr[LIST_MAX] = { 0 }, *bad = NULL;
	int i;

	for (i = 0; i < s->num_wr; i++) {
		wr[i].wr_id = s->wr[i].wr_id;
		wr[i].sg_list = sge[i];
		wr[i].num_sge = set_sges(w, &s->wr[i], sge[i]);
		wr[i].next = i + 1 < s->num_wr ? &wr[i + 1] : NULL;
	}
	if (s->op == OP_POST_RECV)
		r->ret = ibv_post_recv(w->qp[s->slot], wr, &bad);
	else
		r->ret = ibv_post_srq_recv(w->srq[s->slot], wr, &bad);
	r->bad = r->ret ? bad - wr : NONE;
}
