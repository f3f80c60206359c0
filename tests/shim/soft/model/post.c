/*
 * The model's queues: the result of a post
 */
#include "tests/shim/soft/model/model.h"

#include <errno.h>

static bool fits_inline(const struct model_qp *qp, const struct request *wr)
{
	if (!(wr->flags & IBV_SEND_INLINE))
		return true;
	return wr->opcode < IBV_WR_RDMA_READ &&
	       (int)piece_total(wr->sge, wr->num_sge) <= qp->max_inline;
}

/* A request keeps the keys that it was posted with. */
static void name_keys(const struct model *m, int proc, int peer, struct request *wr)
{
	int i;

	for (i = 0; i < wr->num_sge; i++)
		wr->sge[i].generation = m->mr[proc][wr->sge[i].mr].generation;
	wr->dest_life = m->qp[wr->dest].life;
	wr->remote.generation = m->mr[peer][wr->remote.mr].generation;
}

static void enqueue_request(struct model *m, struct model_qp *qp, int peer,
			    const struct request *posted)
{
	uint32_t at = qp->head++ % SQ_MAX;
	struct request *wr = &qp->sq[at];

	*wr = *posted;
	if (wr->num_sge > SGE_MAX)
		wr->num_sge = SGE_MAX; /* the one too many is empty */
	name_keys(m, qp->proc, peer, wr);
	if (wr->flags & IBV_SEND_INLINE)
		qp->inlined[at] = memory_gather(m, (struct where){ qp->proc, wr->sge, wr->num_sge },
						piece_total(wr->sge, wr->num_sge));
}

/* Why @wr cannot be the one at @pos, or 0. */
static int refuse_request(const struct model_qp *qp, uint32_t pos, const struct request *wr,
			  bool built)
{
	/* a list of buffers is not one of SGEs */
	bool buffers = built && wr->flags & IBV_SEND_INLINE;

	if ((int)(pos - qp->retired) >= qp->max_send_wr)
		return ENOMEM;
	return (wr->num_sge > SGE_MAX && !buffers) || !model_has_objects(qp->type, wr->opcode) ||
			       !fits_inline(qp, wr)
		       ? EINVAL
		       : 0;
}

/* All or nothing: ibv_wr_post(3). */
static int build_request(struct model *m, struct model_qp *qp, const struct step *s)
{
	uint32_t pos = qp->head;
	int i, err = 0;

	if (s->arg.send.how == HOW_ABORT)
		return 0;
	for (i = 0; i < s->num_wr && !err; i++) {
		err = refuse_request(qp, pos, &s->wr[i], true);
		pos++;
	}
	if (!err && qp->state < IBV_QPS_RTS)
		err = EINVAL;
	for (i = 0; i < s->num_wr && !err; i++)
		enqueue_request(m, qp, s->arg.send.peer, &s->wr[i]);
	model_run(m, qp);
	return err;
}

void model_post_send(struct model *m, const struct step *s, struct result *r)
{
	struct model_qp *qp = &m->qp[s->slot];
	int i;

	if (s->arg.send.how != HOW_LIST) {
		r->ret = build_request(m, qp, s);
		return;
	}
	if (qp->state < IBV_QPS_RTS) {
		r->ret = EINVAL;
		r->bad = 0;
		return;
	}
	for (i = 0; i < s->num_wr; i++) {
		r->ret = refuse_request(qp, qp->head, &s->wr[i], false);
		if (r->ret) {
			r->bad = i;
			return;
		}
		enqueue_request(m, qp, s->arg.send.peer, &s->wr[i]);
		model_run(m, qp);
	}
}

void model_post_recv(struct model *m, const struct step *s, struct result *r)
{
	struct model_qp *qp = &m->qp[s->slot];
	int i;

	if (qp->srq != NONE || qp->state == IBV_QPS_RESET) {
		r->ret = EINVAL;
		r->bad = 0;
		return;
	}
	for (i = 0; i < s->num_wr; i++) {
		if ((int)(qp->rq.head - qp->rq.retired) >= qp->rq.max_wr)
			r->ret = ENOMEM;
		else if (s->wr[i].num_sge > SGE_MAX)
			r->ret = EINVAL;
		if (r->ret) {
			r->bad = i;
			break;
		}
		qp->rq.wr[qp->rq.head % RQ_MAX] = s->wr[i];
		name_keys(m, s->proc, s->proc, &qp->rq.wr[qp->rq.head++ % RQ_MAX]);
	}
	if (qp->state == IBV_QPS_ERR)
		model_flush_rq(m, qp);
}

void model_post_srq_recv(struct model *m, const struct step *s, struct result *r)
{
	struct model_srq *srq = &m->srq[s->proc][s->slot];
	int i;

	for (i = 0; i < s->num_wr; i++) {
		if (srq->outstanding >= srq->rq.max_wr)
			r->ret = ENOMEM;
		else if (s->wr[i].num_sge > SGE_MAX)
			r->ret = EINVAL;
		if (r->ret) {
			r->bad = i;
			return;
		}
		srq->outstanding++;
		srq->rq.wr[srq->rq.head % RQ_MAX] = s->wr[i];
		name_keys(m, s->proc, s->proc, &srq->rq.wr[srq->rq.head++ % RQ_MAX]);
	}
}
