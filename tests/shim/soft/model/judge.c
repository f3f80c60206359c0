/*
 * Steps that make sense, and results of the device that are allowed
 */
#include "tests/shim/soft/model/model.h"

#include <string.h>

static bool mrs_known(const struct request *wr)
{
	int i;

	for (i = 0; i < wr->num_sge && i < SGE_MAX; i++)
		if (wr->sge[i].mr >= MRS)
			return false;
	return true;
}

/* Two senders wait for one shared queue: their order is undefined. */
static bool would_compete(struct model *m, const struct model_qp *qp)
{
	const struct model_qp *peer = &m->qp[qp->dest];
	const struct model_qp *other, *its;

	if (!peer->live || peer->srq == NONE || qp->type != IBV_QPT_RC)
		return false;
	for (other = m->qp; other < m->qp + QPS; other++) {
		if (other == qp || !other->live || !other->waits)
			continue;
		its = &m->qp[other->dest];
		if (its->live && its->proc == peer->proc && its->srq == peer->srq)
			return true;
	}
	return false;
}

static bool create_applies(struct model *m, const struct step *s)
{
	if (m->qp[s->slot].live || !m->cq[s->proc][s->arg.qp.send_cq].live ||
	    !m->cq[s->proc][s->arg.qp.recv_cq].live)
		return false;
	return s->arg.qp.srq == NONE || m->srq[s->proc][s->arg.qp.srq].live;
}

/*
 * Only one end was reset: whether it takes packets of the earlier connection depends on packet
 * numbers.
 */
static bool half_open(const struct model *m, const struct model_qp *qp, int dest)
{
	const struct model_qp *peer = &m->qp[dest];

	return peer->live && peer->dest == qp - m->qp && peer->dest_life == qp->life &&
	       peer->dest_epoch != qp->epoch && peer->state >= IBV_QPS_RTR &&
	       peer->state <= IBV_QPS_SQE;
}

static bool modify_applies(struct model *m, const struct step *s)
{
	struct model_qp *qp = &m->qp[s->slot];
	int to = s->arg.modify.to;

	if (!qp->live || qp->proc != s->proc)
		return false;
	if (to == IBV_QPS_RTR && qp->type != IBV_QPT_UD)
		return m->qp[s->arg.modify.dest].life && !half_open(m, qp, s->arg.modify.dest);
	if (to == IBV_QPS_SQD && qp->waits)
		return false; /* when would it have drained? */
	return to != IBV_QPS_RTS || qp->next == qp->head || !would_compete(m, qp);
}

/* Builders cannot express requests that are always invalid. */
static bool can_build(const struct model_qp *qp, const struct step *s)
{
	int i;

	for (i = 0; i < s->num_wr; i++)
		if (!model_has_objects(qp->type, s->wr[i].opcode) ||
		    (s->wr[i].flags & IBV_SEND_INLINE && s->wr[i].opcode >= IBV_WR_RDMA_READ))
			return false;
	return qp->builders;
}

static bool send_applies(struct model *m, const struct step *s)
{
	struct model_qp *qp = &m->qp[s->slot];
	int i;

	if (!qp->live || qp->proc != s->proc)
		return false;
	if (s->arg.send.how != HOW_LIST && !can_build(qp, s))
		return false;
	/* a key of one process may by chance be one of the other's */
	if (qp->state >= IBV_QPS_RTS && m->qp[qp->dest].live &&
	    m->qp[qp->dest].proc != s->arg.send.peer)
		return false;
	for (i = 0; i < s->num_wr; i++)
		if (!mrs_known(&s->wr[i]))
			return false;
	return !would_compete(m, qp);
}

static bool names_region(const struct request *wr, int mr, bool remote)
{
	int i;

	if (remote)
		return wr->remote.mr == mr;
	for (i = 0; i < wr->num_sge && i < SGE_MAX; i++)
		if (wr->sge[i].mr == mr)
			return true;
	return false;
}

/* Does its first request wait, and name the region, as its own or as the other end's? */
static bool waits_with(const struct model *m, const struct model_qp *qp, const struct step *s,
		       bool remote)
{
	const struct model_qp *owner = remote ? &m->qp[qp->dest] : qp;

	return qp->live && qp->waits && owner->proc == s->proc &&
	       names_region(&qp->sq[qp->next % SQ_MAX], s->slot, remote);
}

static bool waits_at_all(const struct model *m, const struct model_qp *qp, const struct step *s)
{
	return waits_with(m, qp, s, false) || waits_with(m, qp, s, true);
}

/*
 * ibv_rereg_mr(3) says that changing a region is like deregistering and registering it: a request
 * that waits to use it may look in between.
 */
static bool rereg_applies(const struct model *m, const struct step *s)
{
	const struct model_mr *mr = &m->mr[s->proc][s->slot];

	for (const struct model_qp *qp = m->qp; qp < m->qp + QPS; qp++)
		if (waits_at_all(m, qp, s))
			return false;
	return mr->live && !mr->broken;
}

/*
 * A request that waits looks at its own end's region, then at the other end's: of one that is both
 * it may find the first and miss the second. If requests of both ends wait, the first to look
 * fails, and so does the other end's.
 */
static bool dereg_applies(const struct model *m, const struct step *s)
{
	for (const struct model_qp *qp = m->qp; qp < m->qp + QPS; qp++)
		if ((waits_with(m, qp, s, false) && waits_with(m, qp, s, true)) ||
		    (waits_at_all(m, qp, s) && waits_at_all(m, &m->qp[qp->dest], s)))
			return false;
	return m->mr[s->proc][s->slot].live;
}

static bool limit_applies(struct model *m, const struct step *s)
{
	const struct model_srq *srq = &m->srq[s->proc][s->slot];
	int limit = s->arg.srq.limit;

	if (s->arg.srq.max_wr)
		return srq->live && s->arg.srq.max_wr > srq->limit;
	/* below it from the beginning, or all of the queue: not specified */
	return srq->live && limit != srq->rq.max_wr &&
	       (limit > srq->rq.max_wr || (int)(srq->rq.head - srq->rq.taken) >= limit);
}

/* After an overrun only this much is promised: there is an event, and everything fails. */
static bool ends_use(const struct step *s)
{
	return s->op == OP_ASYNC_EVENTS || s->op == OP_DESTROY_QP || s->op == OP_DESTROY_CQ ||
	       s->op == OP_DESTROY_SRQ || s->op == OP_DEREG_MR || s->op == OP_DEALLOC_PD;
}

bool model_applies(struct model *m, const struct step *s)
{
	if (m->overrun && !ends_use(s))
		return false;
	switch (s->op) {
	case OP_CREATE_CQ:
		return !m->cq[s->proc][s->slot].live;
	case OP_RESIZE_CQ:
	case OP_DESTROY_CQ:
	case OP_POLL:
	case OP_DRAIN:
	case OP_NOTIFY:
		return m->cq[s->proc][s->slot].live;
	case OP_CREATE_SRQ:
		return !m->srq[s->proc][s->slot].live;
	case OP_QUERY_SRQ:
	case OP_DESTROY_SRQ:
	case OP_POST_SRQ_RECV:
		return m->srq[s->proc][s->slot].live;
	case OP_MODIFY_SRQ:
		return limit_applies(m, s);
	case OP_REG_MR:
		return !m->mr[s->proc][s->slot].live;
	case OP_REREG_MR:
		return rereg_applies(m, s);
	case OP_DEREG_MR:
		return dereg_applies(m, s);
	case OP_CREATE_QP:
		return create_applies(m, s);
	case OP_MODIFY_QP:
		return modify_applies(m, s);
	case OP_QUERY_QP:
	case OP_DESTROY_QP:
	case OP_POST_RECV:
		return m->qp[s->slot].live && m->qp[s->slot].proc == s->proc;
	case OP_POST_SEND:
		return send_applies(m, s);
	default:
		return true;
	}
}

static int find_wc(const struct model_cq *cq, uint64_t wr_id)
{
	int i;

	for (i = 0; i < cq->num; i++)
		if (cq->wc[i].wc.wr_id == wr_id)
			return i;
	return NONE;
}

/* Completions of one queue come in the queue's order. */
static bool is_early(const struct model_cq *cq, int at)
{
	int i;

	for (i = 0; i < at; i++)
		if (cq->wc[i].wc.qp == cq->wc[at].wc.qp && cq->wc[i].recv == cq->wc[at].recv)
			return true;
	return false;
}

/* ibv_poll_cq(3) says which fields are valid when. */
static const char *compare_wc(const struct model *m, const struct model_wc *want,
			      const struct completion *got)
{
	const struct completion *wc = &want->wc;
	bool brings = wc->opcode == IBV_WC_RDMA_READ || wc->opcode == IBV_WC_COMP_SWAP ||
		      wc->opcode == IBV_WC_FETCH_ADD;

	if (got->qp != wc->qp)
		return "a completion of another queue pair";
	if (got->status != wc->status)
		return "another status";
	if (wc->status != IBV_WC_SUCCESS)
		return NULL;
	if (got->opcode != wc->opcode)
		return "another opcode";
	if ((want->recv || brings) && got->byte_len != wc->byte_len)
		return "another byte_len";
	/* the number of a destroyed queue pair may be unused */
	if (want->datagram && got->src_qp != wc->src_qp && m->qp[wc->src_qp].life == want->src_life)
		return "another src_qp";
	if (got->wc_flags != wc->wc_flags)
		return "other wc_flags";
	if (wc->wc_flags & IBV_WC_WITH_IMM && got->imm != wc->imm)
		return "other immediate data";
	return NULL;
}

static const char *take_wc(struct model *m, const struct step *s, struct model_cq *cq,
			   const struct completion *got, struct completion *expect)
{
	int at = find_wc(cq, got->wr_id);
	const char *wrong;

	if (at == NONE)
		return "a completion that is not outstanding";
	*expect = cq->wc[at].wc;
	if (is_early(cq, at))
		return "a completion before one that was posted earlier";
	wrong = compare_wc(m, &cq->wc[at], got);
	if (wrong)
		return wrong;
	memory_land(m, s->proc, &cq->wc[at]);
	model_give_back(m, &cq->wc[at]);
	model_remove_wc(cq, at);
	return NULL;
}

static const char *judge_poll(struct model *m, const struct step *s, const struct result *got,
			      struct result *expect)
{
	struct model_cq *cq = &m->cq[s->proc][s->slot];
	int num = s->arg.poll.num < cq->num ? s->arg.poll.num : cq->num;
	const char *wrong = NULL;
	int i;

	expect->ret = expect->num = num;
	for (i = 0; i < num; i++)
		expect->wc[i] = cq->wc[i].wc;
	for (i = 0; i < got->num && i < num && !wrong; i++)
		wrong = take_wc(m, s, cq, &got->wc[i], &expect->wc[i]);
	return wrong                                ? wrong
	       : got->num == num && got->ret == num ? NULL
						    : "another number of completions";
}

/* Each of @got is one of @want, and none is left over. */
static const char *judge_events(const struct happening *want, int num, const struct result *got,
				struct result *expect)
{
	bool seen[EVENT_MAX] = { false };
	int i, k;

	expect->num = num;
	memcpy(expect->event, want, num * sizeof(*want));
	if (got->num != num)
		return "another number of events";
	for (i = 0; i < num; i++) {
		for (k = 0; k < num; k++)
			if (!seen[k] && want[k].type == got->event[i].type &&
			    want[k].slot == got->event[i].slot)
				break;
		if (k == num)
			return "an event of which nothing was said";
		seen[k] = true;
	}
	return NULL;
}

static const char *judge_cq_events(struct model *m, const struct step *s, const struct result *got,
				   struct result *expect)
{
	struct happening want[EVENT_MAX];
	int i, n = 0;

	for (i = 0; i < CQS; i++)
		for (; m->cq[s->proc][i].live && m->cq[s->proc][i].events && n < EVENT_MAX;
		     m->cq[s->proc][i].events--)
			want[n++] = (struct happening){ NONE, i };
	return judge_events(want, n, got, expect);
}

/* Each queue that overran has reported it once; other events are unknown. */
static const char *judge_overrun(const struct happening *want, int num, const struct result *got,
				 struct result *expect)
{
	int i, k, times;

	for (i = 0; i < num; i++) {
		if (want[i].type != IBV_EVENT_CQ_ERR)
			continue;
		expect->event[expect->num++] = want[i];
		for (times = k = 0; k < got->num; k++)
			times += got->event[k].type == IBV_EVENT_CQ_ERR &&
				 got->event[k].slot == want[i].slot;
		if (times != 1)
			return "an overrun that was not told once";
	}
	return NULL;
}

static const char *judge_async(struct model *m, const struct step *s, const struct result *got,
			       struct result *expect)
{
	int num = m->num_events[s->proc];

	m->num_events[s->proc] = 0;
	if (m->overrun)
		return judge_overrun(m->event[s->proc], num, got, expect);
	return judge_events(m->event[s->proc], num, got, expect);
}

static const char *judge_result(const struct result *got, const struct result *expect)
{
	if (got->ret != expect->ret)
		return "another return value";
	if (got->err != expect->err)
		return "another errno";
	if (got->bad != expect->bad)
		return "another bad_wr";
	if (got->state != expect->state || got->num != expect->num)
		return "another state";
	return NULL;
}

static const char *judge_step(struct model *m, const struct step *s, const struct result *got,
			      struct result *expect)
{
	switch (s->op) {
	case OP_POLL:
	case OP_DRAIN:
		return judge_poll(m, s, got, expect);
	case OP_CQ_EVENTS:
		return judge_cq_events(m, s, got, expect);
	case OP_ASYNC_EVENTS:
		return judge_async(m, s, got, expect);
	case OP_REREG_MR:
		model_do(m, s, expect);
		/* the keys may be others, or not */
		expect->state = got->state;
		m->mr[s->proc][s->slot].generation += got->state;
		return judge_result(got, expect);
	default:
		model_do(m, s, expect);
		return judge_result(got, expect);
	}
}

static void begin_judging(struct model *m)
{
	int p, i;

	for (p = 0; p < PROCS; p++)
		for (i = 0; i < CQS; i++)
			m->cq[p][i].arrived = 0;
	for (i = 0; i < QPS; i++)
		m->qp[i].ran = false;
	m->lags = 0;
}

/* Waiting queue pairs, and those failed by their peers, change by themselves. */
static void go_on(struct model *m)
{
	struct model_qp *qp;
	uint32_t before;
	bool any;

	m->alone = true;
	do {
		any = false;
		for (qp = m->qp; qp < m->qp + QPS; qp++) {
			if (!qp->live)
				continue;
			before = qp->next;
			model_run(m, qp);
			if (qp->next != before)
				any = qp->ran = true;
		}
	} while (any);
	m->alone = false;
}

const char *model_step(struct model *m, const struct step *s, const struct result *got,
		       struct result *expect)
{
	const char *wrong;

	begin_judging(m);
	memset(expect, 0, offsetof(struct result, wc));
	expect->bad = NONE;
	wrong = judge_step(m, s, got, expect);
	go_on(m);
	return wrong;
}
