/*
 * The model: its objects, and the effect of each verb on them
 *
 * Not here: the effect of a send request (execute.c), bytes (memory.c).
 */
#include "tests/shim/soft/model/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct model *model_new(void)
{
	struct model *m = calloc(1, sizeof(*m));
	int p, i;

	for (p = 0; p < PROCS; p++) {
		m->bytes[p] = malloc(AREA);
		m->owner[p] = malloc(AREA * sizeof(*m->owner[p]));
		for (i = 0; i < CQS; i++)
			m->cq[p][i].wc = calloc(CQ_MAX, sizeof(struct model_wc));
	}
	return m;
}

static void empty_cq(struct model_cq *cq)
{
	while (cq->num)
		payload_free(&cq->wc[--cq->num].payload);
}

static void forget_inlined(struct model_qp *qp)
{
	int i;

	for (i = 0; i < SQ_MAX; i++)
		payload_free(&qp->inlined[i]);
}

void model_free(struct model *m)
{
	int p, i;

	if (!m)
		return;
	for (i = 0; i < QPS; i++)
		forget_inlined(&m->qp[i]);
	for (p = 0; p < PROCS; p++) {
		free(m->bytes[p]);
		free(m->owner[p]);
		for (i = 0; i < CQS; i++) {
			empty_cq(&m->cq[p][i]);
			free(m->cq[p][i].wc);
		}
	}
	free(m);
}

void model_reset(struct model *m, uint64_t seed)
{
	int p, i;

	for (p = 0; p < PROCS; p++) {
		for (i = 0; i < CQS; i++) {
			empty_cq(&m->cq[p][i]);
			m->cq[p][i].live = false;
		}
		memset(m->srq[p], 0, sizeof(m->srq[p]));
		memset(m->mr[p], 0, sizeof(m->mr[p]));
		memset(m->owner[p], 0, AREA * sizeof(*m->owner[p]));
		memory_fill(m, p, 0, AREA, seed + p);
		m->num_events[p] = 0;
	}
	for (i = 0; i < QPS; i++)
		forget_inlined(&m->qp[i]);
	memset(m->qp, 0, sizeof(m->qp));
	m->deliveries = 0;
	m->alone = m->overrun = false;
}

void model_process_event(struct model *m, int proc, int type, int slot)
{
	if (m->num_events[proc] < EVENT_MAX)
		m->event[proc][m->num_events[proc]++] = (struct happening){ type, slot };
}

static bool is_about(const struct happening *e, int kind, int slot)
{
	int of = e->type == IBV_EVENT_CQ_ERR              ? OP_CREATE_CQ
		 : e->type == IBV_EVENT_SRQ_LIMIT_REACHED ? OP_CREATE_SRQ
							  : OP_CREATE_QP;

	return of == kind && e->slot == slot;
}

/* The events of an object are destroyed with it. */
static void forget_events(struct model *m, int proc, int kind, int slot)
{
	int i, n = 0;

	for (i = 0; i < m->num_events[proc]; i++)
		if (!is_about(&m->event[proc][i], kind, slot))
			m->event[proc][n++] = m->event[proc][i];
	m->num_events[proc] = n;
}

void model_complete(struct model *m, int proc, int index, struct model_wc wc, bool solicited)
{
	struct model_cq *cq = &m->cq[proc][index];

	if (cq->num == cq->cqe) {
		if (!m->overrun)
			model_process_event(m, proc, IBV_EVENT_CQ_ERR, index);
		m->overrun = true;
		payload_free(&wc.payload);
		return;
	}
	cq->wc[cq->num++] = wc;
	cq->arrived += m->alone;
	if (cq->armed == 2 || (cq->armed == 1 && solicited)) {
		cq->armed = 0;
		cq->events++;
	}
}

void model_give_back(struct model *m, const struct model_wc *wc)
{
	struct model_qp *qp = &m->qp[wc->wc.qp];

	if (wc->srq != NONE)
		m->srq[qp->proc][wc->srq].outstanding--;
	else if (wc->recv)
		qp->rq.retired = wc->retire;
	else
		qp->retired = wc->retire;
}

void model_remove_wc(struct model_cq *cq, int i)
{
	memmove(&cq->wc[i], &cq->wc[i + 1], (--cq->num - i) * sizeof(cq->wc[0]));
}

/* A queue pair that is reset loses its completions. */
void model_purge(struct model *m, int slot)
{
	struct model_cq *cq;
	int p, c, i;

	for (p = 0; p < PROCS; p++)
		for (c = 0; c < CQS; c++) {
			cq = &m->cq[p][c];
			for (i = cq->num - 1; i >= 0; i--) {
				if (cq->wc[i].wc.qp != slot)
					continue;
				model_give_back(m, &cq->wc[i]);
				payload_free(&cq->wc[i].payload);
				model_remove_wc(cq, i);
			}
		}
}

static int note_refused(struct result *r, int err)
{
	r->ret = -1;
	r->err = err;
	return -1;
}

static void create_cq(struct model *m, const struct step *s, struct result *r)
{
	struct model_cq *cq = &m->cq[s->proc][s->slot];

	if (s->arg.cq.cqe < 1) {
		note_refused(r, EINVAL);
		return;
	}
	cq->live = true;
	cq->cqe = s->arg.cq.cqe;
	cq->num = cq->armed = cq->events = 0;
}

static void resize_cq(struct model *m, const struct step *s, struct result *r)
{
	struct model_cq *cq = &m->cq[s->proc][s->slot];

	if (s->arg.cq.cqe < 1 || s->arg.cq.cqe < cq->num)
		r->ret = EINVAL;
	else
		cq->cqe = s->arg.cq.cqe;
}

static bool cq_is_used(const struct model *m, int proc, int slot)
{
	int q;

	for (q = 0; q < QPS; q++)
		if (m->qp[q].live && m->qp[q].proc == proc &&
		    (m->qp[q].send_cq == slot || m->qp[q].recv_cq == slot))
			return true;
	return false;
}

static void destroy_cq(struct model *m, const struct step *s, struct result *r)
{
	if (cq_is_used(m, s->proc, s->slot)) {
		r->ret = EBUSY;
		return;
	}
	empty_cq(&m->cq[s->proc][s->slot]);
	m->cq[s->proc][s->slot].live = false;
	forget_events(m, s->proc, OP_CREATE_CQ, s->slot);
}

static void create_srq(struct model *m, const struct step *s, struct result *r)
{
	struct model_srq *srq = &m->srq[s->proc][s->slot];

	if (s->arg.srq.max_wr < 1) {
		note_refused(r, EINVAL);
		return;
	}
	memset(srq, 0, sizeof(*srq));
	srq->live = true;
	srq->pd = s->arg.srq.pd;
	srq->rq.max_wr = s->arg.srq.max_wr;
}

static void modify_srq(struct model *m, const struct step *s, struct result *r)
{
	struct model_srq *srq = &m->srq[s->proc][s->slot];

	if (s->arg.srq.max_wr) {
		if (s->arg.srq.max_wr < srq->outstanding)
			r->ret = EINVAL;
		else
			srq->rq.max_wr = s->arg.srq.max_wr;
	} else if (s->arg.srq.limit > srq->rq.max_wr)
		r->ret = EINVAL;
	else
		srq->limit = s->arg.srq.limit;
}

static void destroy_srq(struct model *m, const struct step *s, struct result *r)
{
	int q;

	for (q = 0; q < QPS; q++)
		if (m->qp[q].live && m->qp[q].proc == s->proc && m->qp[q].srq == s->slot) {
			r->ret = EBUSY;
			return;
		}
	m->srq[s->proc][s->slot].live = false;
	forget_events(m, s->proc, OP_CREATE_SRQ, s->slot);
}

static bool access_is_valid(uint32_t access)
{
	return access & IBV_ACCESS_LOCAL_WRITE ||
	       !(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
}

static void reg_mr(struct model *m, const struct step *s, struct result *r)
{
	struct model_mr *mr = &m->mr[s->proc][s->slot];

	if (access_is_valid(s->arg.mr.access))
		*mr = (struct model_mr){ .live = true,
					 .generation = mr->generation + 1,
					 .off = s->arg.mr.off,
					 .len = s->arg.mr.len,
					 .access = s->arg.mr.access,
					 .pd = s->arg.mr.pd };
	else
		note_refused(r, EINVAL);
}

static void rereg_mr(struct model *m, const struct step *s, struct result *r)
{
	struct model_mr *mr = &m->mr[s->proc][s->slot];
	int flags = s->arg.mr.flags;

	if (s->arg.mr.access && !(flags & IBV_REREG_MR_CHANGE_ACCESS)) {
		note_refused(r, EINVAL);
		return;
	}
	if (!flags || (flags & IBV_REREG_MR_CHANGE_ACCESS && !access_is_valid(s->arg.mr.access))) {
		r->ret = IBV_REREG_MR_ERR_CMD;
		r->err = EINVAL;
		mr->broken = true;
		return;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->off = s->arg.mr.off;
		mr->len = s->arg.mr.len;
	}
	if (flags & IBV_REREG_MR_CHANGE_ACCESS)
		mr->access = s->arg.mr.access;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		mr->pd = s->arg.mr.pd;
}

static void dealloc_pd(struct model *m, const struct step *s, struct result *r)
{
	int i;

	for (i = 0; i < QPS; i++)
		if (m->qp[i].live && m->qp[i].proc == s->proc && m->qp[i].pd == s->slot)
			r->ret = EBUSY;
	for (i = 0; i < MRS; i++)
		if (m->mr[s->proc][i].live && m->mr[s->proc][i].pd == s->slot)
			r->ret = EBUSY;
	for (i = 0; i < SRQS; i++)
		if (m->srq[s->proc][i].live && m->srq[s->proc][i].pd == s->slot)
			r->ret = EBUSY;
}

static void create_qp(struct model *m, const struct step *s, struct result *r)
{
	struct model_qp *qp = &m->qp[s->slot];

	(void)r;
	*qp = (struct model_qp){
		.live = true,
		.proc = s->proc,
		.pd = s->arg.qp.pd,
		.send_cq = s->arg.qp.send_cq,
		.recv_cq = s->arg.qp.recv_cq,
		.type = s->arg.qp.type,
		.builders = s->arg.qp.builders,
		.srq = s->arg.qp.srq,
		.sig_all = s->arg.qp.sig_all,
		.max_inline = s->arg.qp.max_inline,
		.max_send_wr = s->arg.qp.max_send_wr,
		.rq.max_wr = s->arg.qp.max_recv_wr,
		.life = ++m->lives,
	};
}

static void reset_qp(struct model *m, struct model_qp *qp)
{
	forget_inlined(qp);
	model_purge(m, qp - m->qp);
	qp->state = IBV_QPS_RESET;
	qp->epoch++;
	qp->dest = qp->dest_life = 0;
	qp->access = 0;
	qp->established = qp->waits = false;
	qp->head = qp->next = qp->retired = 0;
	qp->rq.head = qp->rq.taken = qp->rq.retired = 0;
}

static void destroy_qp(struct model *m, const struct step *s, struct result *r)
{
	(void)r;
	reset_qp(m, &m->qp[s->slot]);
	m->qp[s->slot].live = false;
	forget_events(m, s->proc, OP_CREATE_QP, s->slot);
}

enum {
	RC = 1,
	UC = 2,
	UD = 4,
	CONNECTED = RC | UC,
	ALL = CONNECTED | UD,
	STATE = 1 << MASK_STATE,
	FULL = 1 << MASK_FULL,
	ACCESS = 1 << MASK_ACCESS,
};

/* ibv_modify_qp(3): for the types, with any of the masks. */
/* clang-format off */
static const struct way {
	int	types, from, to, masks;
} ways[] = {
	{ ALL,		IBV_QPS_RESET,	IBV_QPS_INIT,	FULL },
	{ CONNECTED,	IBV_QPS_INIT,	IBV_QPS_INIT,	STATE | FULL | ACCESS },
	{ UD,		IBV_QPS_INIT,	IBV_QPS_INIT,	STATE | FULL },
	{ CONNECTED,	IBV_QPS_INIT,	IBV_QPS_RTR,	FULL },
	{ UD,		IBV_QPS_INIT,	IBV_QPS_RTR,	STATE | FULL },
	{ ALL,		IBV_QPS_RTR,	IBV_QPS_RTS,	FULL },
	{ CONNECTED,	IBV_QPS_RTS,	IBV_QPS_RTS,	STATE | ACCESS },
	{ UD,		IBV_QPS_RTS,	IBV_QPS_RTS,	STATE },
	{ ALL,		IBV_QPS_RTS,	IBV_QPS_SQD,	STATE | FULL },
	{ CONNECTED,	IBV_QPS_SQD,	IBV_QPS_SQD,	STATE | FULL | ACCESS },
	{ UD,		IBV_QPS_SQD,	IBV_QPS_SQD,	STATE | FULL },
	{ CONNECTED,	IBV_QPS_SQD,	IBV_QPS_RTS,	STATE | ACCESS },
	{ UD,		IBV_QPS_SQD,	IBV_QPS_RTS,	STATE },
	{ UC,		IBV_QPS_SQE,	IBV_QPS_RTS,	STATE | ACCESS },
	{ UD,		IBV_QPS_SQE,	IBV_QPS_RTS,	STATE },
};
/* clang-format on */

static int bit_of(int type)
{
	return type == IBV_QPT_RC ? RC : type == IBV_QPT_UC ? UC : UD;
}

static bool is_way(const struct model_qp *qp, int to, int mask)
{
	size_t i;

	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && qp->state != IBV_QPS_RESET))
		return mask != MASK_ACCESS;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].types & bit_of(qp->type) && ways[i].from == qp->state &&
		    ways[i].to == to)
			return ways[i].masks & 1 << mask;
	return false;
}

/* Do the attributes have anything that can be left out, or be wrong? */
static bool is_faulty(const struct model_qp *qp, const struct step *s)
{
	int to = s->arg.modify.to;

	switch (s->arg.modify.fault) {
	case FAULT_NONE:
		return false;
	case FAULT_MISSING:
		return to == IBV_QPS_INIT ? qp->state == IBV_QPS_RESET
					  : qp->type == IBV_QPT_RC ||
						    (to == IBV_QPS_RTR && qp->type == IBV_QPT_UC);
	case FAULT_VALUE:
		return to == IBV_QPS_INIT || qp->type == IBV_QPT_RC ||
		       (to == IBV_QPS_RTR && qp->type == IBV_QPT_UC);
	default:
		return true;
	}
}

/* An unreliable one needs one attribute to be RTS: without it, none is left. */
static int mask_of(const struct model_qp *qp, const struct step *s)
{
	return s->arg.modify.fault == FAULT_MISSING && s->arg.modify.to == IBV_QPS_RTS &&
			       qp->type != IBV_QPT_RC && s->arg.modify.mask == MASK_FULL
		       ? MASK_STATE
		       : s->arg.modify.mask;
}

static void connect_qp(struct model *m, struct model_qp *qp, const struct step *s)
{
	const struct model_qp *peer = &m->qp[s->arg.modify.dest];

	qp->dest = s->arg.modify.dest;
	qp->dest_life = peer->life;
	qp->dest_epoch = peer->epoch;
	qp->max_dest_rd = s->arg.modify.rd;
}

static void modify_qp(struct model *m, const struct step *s, struct result *r)
{
	struct model_qp *qp = &m->qp[s->slot];
	int to = s->arg.modify.to, mask = mask_of(qp, s);

	if (!is_way(qp, to, mask) || is_faulty(qp, s)) {
		r->ret = EINVAL;
		return;
	}
	if (to == IBV_QPS_RESET) {
		reset_qp(m, qp);
		return;
	}
	if (to == IBV_QPS_ERR) {
		model_fail(m, qp, NONE);
		model_run(m, qp);
		return;
	}
	if (qp->type != IBV_QPT_UD &&
	    (mask == MASK_ACCESS || (to == IBV_QPS_INIT && mask == MASK_FULL)))
		qp->access = s->arg.modify.access;
	if (to == IBV_QPS_RTR && qp->type != IBV_QPT_UD)
		connect_qp(m, qp, s);
	if (to == IBV_QPS_RTS && mask == MASK_FULL) {
		qp->rnr_retry = s->arg.modify.rnr_retry;
		qp->max_rd = s->arg.modify.rd;
	}
	qp->state = to;
	model_run(m, qp);
}

typedef void verb_fn(struct model *m, const struct step *s, struct result *r);

static void dereg_mr(struct model *m, const struct step *s, struct result *r)
{
	(void)r;
	m->mr[s->proc][s->slot].live = false;
}

static void query_srq(struct model *m, const struct step *s, struct result *r)
{
	r->state = m->srq[s->proc][s->slot].limit;
	r->num = m->srq[s->proc][s->slot].rq.max_wr;
}

static void query_qp(struct model *m, const struct step *s, struct result *r)
{
	const struct model_qp *qp = &m->qp[s->slot];

	r->state = qp->state;
	r->num = qp->access;
}

static void notify_cq(struct model *m, const struct step *s, struct result *r)
{
	int arm = s->arg.notify.solicited ? 1 : 2;
	struct model_cq *cq = &m->cq[s->proc][s->slot];

	(void)r;
	if (arm > cq->armed)
		cq->armed = arm;
}

static void fill_memory(struct model *m, const struct step *s, struct result *r)
{
	(void)r;
	memory_fill(m, s->proc, s->arg.fill.off, s->arg.fill.len, s->arg.fill.seed);
}

/* clang-format off */
static verb_fn *const verbs[OPS] = {
	[OP_FILL]		= fill_memory,
	[OP_CREATE_CQ]		= create_cq,
	[OP_RESIZE_CQ]		= resize_cq,
	[OP_DESTROY_CQ]		= destroy_cq,
	[OP_CREATE_SRQ]		= create_srq,
	[OP_MODIFY_SRQ]		= modify_srq,
	[OP_QUERY_SRQ]		= query_srq,
	[OP_DESTROY_SRQ]	= destroy_srq,
	[OP_REG_MR]		= reg_mr,
	[OP_REREG_MR]		= rereg_mr,
	[OP_DEREG_MR]		= dereg_mr,
	[OP_DEALLOC_PD]		= dealloc_pd,
	[OP_CREATE_QP]		= create_qp,
	[OP_MODIFY_QP]		= modify_qp,
	[OP_QUERY_QP]		= query_qp,
	[OP_DESTROY_QP]		= destroy_qp,
	[OP_POST_SEND]		= model_post_send,
	[OP_POST_RECV]		= model_post_recv,
	[OP_POST_SRQ_RECV]	= model_post_srq_recv,
	[OP_NOTIFY]		= notify_cq,
};
/* clang-format on */

void model_do(struct model *m, const struct step *s, struct result *r)
{
	if (verbs[s->op])
		verbs[s->op](m, s, r);
}
