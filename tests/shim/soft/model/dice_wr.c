/*
 * The dice: requests, and the memory they refer to
 */
#include "tests/shim/soft/model/dice.h"

uint32_t dice_roll(struct dice *d, uint32_t sides)
{
	return sides ? (model_random(&d->state) >> 20) % sides : 0;
}

bool dice_percent(struct dice *d, uint32_t n)
{
	return dice_roll(d, 100) < n;
}

static uint32_t any_length(struct dice *d)
{
	static const uint32_t lengths[] = {
		0, 1, 8, 64, 71, 72, 73, 1000, 8191, 8192, 8193, 40000,
	};

	if (dice_percent(d, 30))
		return lengths[dice_roll(d, 12)];
	return dice_roll(d, dice_percent(d, 20) ? 40000 : 200);
}

/* @access of @len bytes, 0 if there is no such region; the length may shrink. */
static struct piece any_piece(struct dice *d, const struct model *m, int proc, int pd,
			      uint32_t access, uint32_t len)
{
	struct piece p = { .mr = dice_roll(d, MRS), .len = len };
	const struct model_mr *mr;
	int i;

	for (i = 0; i < MRS; i++, p.mr = (p.mr + 1) % MRS) {
		mr = &m->mr[proc][p.mr];
		if (mr->live && mr->pd == pd && (mr->access & access) == access)
			break;
	}
	mr = &m->mr[proc][p.mr];
	if (!mr->live)
		p.off = dice_roll(d, AREA - len);
	else if (len > mr->len) {
		p.off = mr->off;
		p.len = mr->len;
	} else
		p.off = mr->off + dice_roll(d, mr->len - len + 1);
	return p;
}

static void spoil_piece(struct dice *d, const struct model *m, int proc, struct piece *p)
{
	const struct model_mr *mr;

	switch (dice_roll(d, 6)) {
	case 0:
		p->key = KEY_OTHER;
		break;
	case 1:
		p->key = KEY_OLD;
		break;
	case 2:
		p->mr = dice_roll(d, MRS);
		break;
	case 3:
		p->off = dice_roll(d, AREA - p->len + 1);
		break;
	default: /* a byte of it before, or behind */
		mr = &m->mr[proc][p->mr];
		if (dice_percent(d, 50) && mr->off)
			p->off = mr->off - 1;
		else if (mr->off + mr->len < AREA && p->len <= mr->len)
			p->off = mr->off + mr->len - p->len + 1;
		break;
	}
}

static void any_pieces(struct dice *d, const struct model *m, int proc, int pd, uint32_t access,
		       uint32_t len, struct request *wr)
{
	uint32_t part;
	int i;

	wr->num_sge = dice_percent(d, 70) ? 1 : dice_roll(d, SGE_MAX + 1);
	for (i = 0; i < wr->num_sge; i++) {
		part = i + 1 == wr->num_sge ? len : dice_roll(d, len + 1);
		wr->sge[i] = any_piece(d, m, proc, pd, access, part);
		len -= wr->sge[i].len;
	}
	if (wr->num_sge && dice_percent(d, 2))
		spoil_piece(d, m, proc, &wr->sge[dice_roll(d, wr->num_sge)]);
	if (dice_percent(d, 1) && dice_percent(d, 40))
		wr->num_sge = SGE_MAX + 1;
}

static uint64_t any_id(struct dice *d)
{
	return model_random(&d->state) << 32 | ++d->serial;
}

void dice_recv(struct dice *d, const struct model *m, int proc, int pd, struct request *wr)
{
	uint32_t len = dice_percent(d, 60) ? 40000 : any_length(d);

	wr->wr_id = any_id(d);
	any_pieces(d, m, proc, pd, IBV_ACCESS_LOCAL_WRITE, len, wr);
}

/* Most messages fit: use the length of the receive that they will consume. */
static uint32_t room_at(const struct model *m, const struct model_qp *qp, int dest)
{
	const struct model_qp *peer = &m->qp[qp->type == IBV_QPT_UD ? dest : qp->dest];
	const struct model_rq *rq =
		peer->srq == NONE || !peer->live ? &peer->rq : &m->srq[peer->proc][peer->srq].rq;
	const struct request *wr = &rq->wr[rq->taken % RQ_MAX];

	return rq->taken == rq->head ? AREA : piece_total(wr->sge, wr->num_sge);
}

/* A message without a request at an unreliable receiver may take long to be lost. */
static void avoid_lag(struct dice *d, const struct model *m, const struct model_qp *qp, int before,
		      struct request *wr)
{
	const struct model_qp *peer = &m->qp[qp->type == IBV_QPT_UD ? wr->dest : qp->dest];
	const struct model_rq *rq =
		peer->srq == NONE || !peer->live ? &peer->rq : &m->srq[peer->proc][peer->srq].rq;

	if (qp->type == IBV_QPT_RC || !rq->head || (int)(rq->head - rq->taken) > before ||
	    (dice_percent(d, 2) && dice_percent(d, 20)))
		return;
	if (qp->type == IBV_QPT_UD)
		wr->other_qkey = true;
	else
		wr->opcode = IBV_WR_RDMA_WRITE;
}

static uint32_t remote_access(int opcode)
{
	switch (opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_ACCESS_REMOTE_WRITE;
	case IBV_WR_RDMA_READ:
		return IBV_ACCESS_REMOTE_READ;
	default:
		return IBV_ACCESS_REMOTE_ATOMIC;
	}
}

static void any_remote(struct dice *d, const struct model *m, const struct model_qp *qp,
		       struct request *wr)
{
	const struct model_qp *peer = &m->qp[qp->dest];
	uint32_t len = piece_total(wr->sge, wr->num_sge);

	if (wr->opcode > IBV_WR_RDMA_READ && len > 8)
		len = 8;
	wr->remote = any_piece(d, m, peer->proc, peer->pd, remote_access(wr->opcode), len);
	if (wr->remote.len < len) {
		/* then all of it is shorter */
		wr->num_sge = 0;
		wr->remote.len = 0;
	}
	if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP && wr->opcode <= IBV_WR_ATOMIC_FETCH_AND_ADD &&
	    !dice_percent(d, 2))
		wr->remote.off &= ~7u;
	if (dice_percent(d, 3))
		spoil_piece(d, m, peer->proc, &wr->remote);
}

void dice_send(struct dice *d, const struct model *m, const struct model_qp *qp, int before,
	       struct request *wr)
{
	static const uint8_t opcodes[] = {
		IBV_WR_SEND,
		IBV_WR_SEND,
		IBV_WR_SEND,
		IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	uint32_t len = any_length(d), room;
	bool brings;

	wr->wr_id = any_id(d);
	do
		wr->opcode = opcodes[dice_roll(d, 9)];
	while (!model_has_objects(qp->type, wr->opcode) && !dice_percent(d, 2));
	wr->dest = dice_percent(d, 80) ? (qp - m->qp) ^ 1 : dice_roll(d, QPS);
	wr->other_qkey = dice_percent(d, 3);
	if (qp->type == IBV_QPT_UD && len > 4096 && !dice_percent(d, 4))
		len = dice_roll(d, 4097);
	avoid_lag(d, m, qp, before, wr);
	brings = wr->opcode >= IBV_WR_RDMA_READ;
	room = room_at(m, qp, wr->dest);
	if (qp->type == IBV_QPT_UD)
		room = room < 40 ? 0 : room - 40;
	if (wr->opcode <= IBV_WR_SEND_WITH_IMM && len > room && !dice_percent(d, 6))
		len = dice_roll(d, room + 1);
	if (wr->opcode > IBV_WR_RDMA_READ)
		len = dice_percent(d, 90) ? 8 : 8 + dice_roll(d, 4096);
	any_pieces(d, m, qp->proc, qp->pd, brings ? IBV_ACCESS_LOCAL_WRITE : 0, len, wr);
	if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
		any_remote(d, m, qp, wr);
	wr->flags = (dice_percent(d, 60) ? IBV_SEND_SIGNALED : 0) |
		    (dice_percent(d, 20) ? IBV_SEND_SOLICITED : 0) |
		    (dice_percent(d, 10) ? IBV_SEND_FENCE : 0);
	if (dice_percent(d, 2) || (!brings && dice_percent(d, 40) &&
				   (int)piece_total(wr->sge, wr->num_sge) <= qp->max_inline))
		wr->flags |= IBV_SEND_INLINE;
	wr->imm = model_random(&d->state);
	wr->compare_add = dice_percent(d, 50) ? 0 : model_random(&d->state);
	wr->swap = model_random(&d->state);
}
