/*
 * The dice: the next step
 *
 * Guided by the model, so that most steps succeed: steps that always fail test little. Every
 * possible mistake is made sometimes.
 */
#include "tests/shim/soft/model/dice.h"

#include <string.h>

enum {
	STAGE_OBJECTS, /* of the first process, then the second */
	STAGE_QPS = STAGE_OBJECTS + PROCS,
	STAGE_PAIRS = STAGE_QPS + QPS,
	STAGE_RANDOM = STAGE_PAIRS + QPS / 2,
	STAGE_DRAIN,
	STAGE_EVENTS,
	STAGE_DESTROY_QPS,
	STAGE_DESTROY,
	STAGE_END,
	STEPS_MIN = 20,
	STEPS_MORE = 41,
	ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC,
};

static struct step *push_step(struct dice *d, int op, int proc, int slot)
{
	struct step *s = &d->queue[(d->first + d->num++) % QUEUE_MAX];

	memset(s, 0, sizeof(*s));
	s->op = op;
	s->proc = proc;
	s->slot = slot;
	return s;
}

void dice_begin(struct dice *d, uint64_t seed)
{
	memset(d, 0, sizeof(*d));
	d->state = seed;
	d->left = STEPS_MIN + dice_roll(d, STEPS_MORE);
}

static void make_cq(struct dice *d, int proc, int slot)
{
	struct step *s = push_step(d, OP_CREATE_CQ, proc, slot);

	s->arg.cq.cqe = dice_percent(d, 25) ? 2 + dice_roll(d, 20) : 40 + dice_roll(d, 160);
	if (dice_percent(d, 1))
		s->arg.cq.cqe = 0;
	s->arg.cq.extended = dice_percent(d, 30);
}

static void make_srq(struct dice *d, int proc, int slot)
{
	struct step *s = push_step(d, OP_CREATE_SRQ, proc, slot);

	s->arg.srq.max_wr = dice_percent(d, 2) ? 0 : 1 + dice_roll(d, 20);
	s->arg.srq.pd = dice_percent(d, 10);
}

static void choose_mr(struct dice *d, struct step *s)
{
	static const uint32_t access[] = {
		0,
		IBV_ACCESS_LOCAL_WRITE,
		IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		ALL_ACCESS,
		IBV_ACCESS_REMOTE_WRITE,
	};

	s->arg.mr.access = ALL_ACCESS;
	s->arg.mr.len = AREA;
	if (dice_percent(d, 50)) {
		s->arg.mr.off = dice_roll(d, AREA - 1);
		s->arg.mr.len = 1 + dice_roll(d, AREA - s->arg.mr.off);
		s->arg.mr.access = access[dice_roll(d, 7)];
	}
	s->arg.mr.pd = dice_percent(d, 5);
}

static void make_mr(struct dice *d, int proc, int slot)
{
	choose_mr(d, push_step(d, OP_REG_MR, proc, slot));
}

static void make_objects(struct dice *d, int proc)
{
	struct step *s;
	int i;

	for (i = 0; i < CQS; i++)
		if (!i || dice_percent(d, 60))
			make_cq(d, proc, i);
	if (dice_percent(d, 50))
		make_srq(d, proc, 0);
	s = push_step(d, OP_REG_MR, proc, 0);
	s->arg.mr.len = AREA;
	s->arg.mr.access = ALL_ACCESS;
	for (i = 1; i < 3; i++)
		make_mr(d, proc, i);
}

static int any_cq(struct dice *d, const struct model *m, int proc)
{
	int slot = dice_roll(d, CQS);

	return m->cq[proc][slot].live ? slot : 0;
}

/* Usually such that it is connected to the other one of its pair. */
static int any_type(struct dice *d, const struct model *m, int slot)
{
	static const uint8_t types[] = {
		IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
	};

	if (m->qp[slot ^ 1].live && !dice_percent(d, 5))
		return m->qp[slot ^ 1].type;
	return types[dice_roll(d, 5)];
}

static void make_qp(struct dice *d, const struct model *m, int slot)
{
	int proc = dice_roll(d, PROCS);
	struct step *s = push_step(d, OP_CREATE_QP, proc, slot);

	s->arg.qp.type = any_type(d, m, slot);
	s->arg.qp.builders = dice_percent(d, 40);
	s->arg.qp.pd = dice_percent(d, 4);
	s->arg.qp.send_cq = any_cq(d, m, proc);
	s->arg.qp.recv_cq = dice_percent(d, 40) ? s->arg.qp.send_cq : any_cq(d, m, proc);
	s->arg.qp.srq = dice_percent(d, 60) && m->srq[proc][0].live ? 0 : NONE;
	s->arg.qp.max_send_wr = 1 + dice_roll(d, dice_percent(d, 20) ? 4 : 32);
	s->arg.qp.max_recv_wr = 1 + dice_roll(d, dice_percent(d, 20) ? 4 : 32);
	s->arg.qp.max_inline = dice_roll(d, 3) * 64;
	s->arg.qp.sig_all = dice_percent(d, 30);
}

static struct step *push_modify(struct dice *d, const struct model *m, int slot, int to, int mask)
{
	struct step *s = push_step(d, OP_MODIFY_QP, m->qp[slot].proc, slot);

	s->arg.modify.to = to;
	s->arg.modify.mask = mask;
	s->arg.modify.access = ALL_ACCESS;
	if (dice_percent(d, 5))
		s->arg.modify.access = dice_roll(d, 16);
	/* the others cost a wait of LAG each (run.c) */
	s->arg.modify.rnr_retry = dice_roll(d, 300) ? 7 : dice_roll(d, 3);
	s->arg.modify.timeout = 1 + dice_roll(d, 3);
	s->arg.modify.retry_cnt = dice_roll(d, 8);
	s->arg.modify.rd = dice_percent(d, 3) ? 0 : 1 + dice_roll(d, 4);
	return s;
}

static void join_qps(struct dice *d, const struct model *m, int a, int b)
{
	int end[2] = { a, b }, n = a == b ? 1 : 2, i;

	for (i = 0; i < n; i++)
		if (m->qp[end[i]].state != IBV_QPS_RESET)
			push_modify(d, m, end[i], IBV_QPS_RESET, MASK_STATE);
	for (i = 0; i < n; i++)
		push_modify(d, m, end[i], IBV_QPS_INIT, MASK_FULL);
	for (i = 0; i < n; i++)
		push_modify(d, m, end[i], IBV_QPS_RTR, MASK_FULL)->arg.modify.dest = end[n - 1 - i];
	for (i = 0; i < n; i++)
		if (!i || !dice_percent(d, 12))
			push_modify(d, m, end[i], IBV_QPS_RTS, MASK_FULL);
}

static int any_qp(struct dice *d, const struct model *m)
{
	int i, slot = dice_roll(d, QPS);

	for (i = 0; i < QPS && !m->qp[slot].live; i++)
		slot = (slot + 1) % QPS;
	return slot;
}

static int list_length(struct dice *d)
{
	return dice_percent(d, 60) ? 1 : 1 + dice_roll(d, LIST_MAX);
}

static bool is_usable(const struct model *m, const struct model_qp *qp)
{
	const struct model_qp *peer = &m->qp[qp->dest];

	return (qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_SQD) &&
	       (qp->type == IBV_QPT_UD ||
		(peer->live && peer->epoch == qp->dest_epoch && peer->state >= IBV_QPS_RTR &&
		 peer->state <= IBV_QPS_SQE));
}

static void post_send(struct dice *d, const struct model *m)
{
	int slot = any_qp(d, m), i;
	const struct model_qp *qp = &m->qp[slot];
	struct step *s;

	/* a broken connection is rarely used, and then connected again */
	if (qp->state == IBV_QPS_SQE && dice_percent(d, 50)) {
		push_modify(d, m, slot, IBV_QPS_RTS, MASK_STATE);
		return;
	}
	if (!is_usable(m, qp) && dice_percent(d, 75) && m->qp[slot ^ 1].live) {
		join_qps(d, m, slot, dice_percent(d, 5) ? slot : slot ^ 1);
		return;
	}
	s = push_step(d, OP_POST_SEND, qp->proc, slot);
	s->arg.send.peer = m->qp[qp->dest].proc;
	s->arg.send.datagrams = qp->type == IBV_QPT_UD;
	if (qp->builders && dice_percent(d, 70))
		s->arg.send.how = dice_percent(d, 90) ? HOW_BUILDER : HOW_ABORT;
	s->num_wr = list_length(d);
	for (i = 0; i < s->num_wr; i++)
		dice_send(d, m, qp, i, &s->wr[i]);
}

static void post_recv(struct dice *d, const struct model *m)
{
	int slot = any_qp(d, m), pd, i;
	const struct model_qp *qp = &m->qp[slot];
	struct step *s;

	pd = qp->pd;
	if (qp->srq == NONE || dice_percent(d, 3))
		s = push_step(d, OP_POST_RECV, qp->proc, slot);
	else {
		s = push_step(d, OP_POST_SRQ_RECV, qp->proc, qp->srq);
		pd = m->srq[qp->proc][qp->srq].pd;
	}
	s->num_wr = list_length(d);
	for (i = 0; i < s->num_wr; i++)
		dice_recv(d, m, qp->proc, pd, &s->wr[i]);
}

static void poll_any(struct dice *d, const struct model *m)
{
	int proc = dice_roll(d, PROCS);

	push_step(d, OP_POLL, proc, any_cq(d, m, proc))->arg.poll.num =
		dice_percent(d, 3) ? 0 : 1 + dice_roll(d, dice_percent(d, 30) ? 64 : 4);
}

static void modify_any(struct dice *d, const struct model *m)
{
	static const uint8_t states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_SQD, IBV_QPS_ERR,
	};
	int slot = any_qp(d, m), to = states[dice_roll(d, 8)];
	struct step *s;

	if ((m->qp[slot].state == IBV_QPS_SQD || m->qp[slot].state == IBV_QPS_SQE) &&
	    dice_percent(d, 60))
		to = IBV_QPS_RTS;
	s = push_modify(d, m, slot, to, dice_roll(d, MASKS));
	if (to != IBV_QPS_RTR && m->qp[slot].state >= IBV_QPS_RTS && dice_percent(d, 70))
		s->arg.modify.mask = MASK_STATE;
	s->arg.modify.dest = dice_percent(d, 90) ? slot ^ 1 : (int)dice_roll(d, QPS);
	if (dice_percent(d, 15))
		s->arg.modify.fault = dice_roll(d, FAULTS);
	if (s->arg.modify.fault != FAULT_EXTRA &&
	    (s->arg.modify.mask != MASK_FULL || to < IBV_QPS_INIT || to > IBV_QPS_RTS))
		s->arg.modify.fault = FAULT_NONE;
}

static void change_mr(struct dice *d, const struct model *m)
{
	int proc = dice_roll(d, PROCS), slot = dice_roll(d, MRS);
	struct step *s;

	if (!m->mr[proc][slot].live)
		make_mr(d, proc, slot);
	else if (dice_percent(d, 50))
		push_step(d, OP_DEREG_MR, proc, slot);
	else {
		s = push_step(d, OP_REREG_MR, proc, slot);
		choose_mr(d, s);
		s->arg.mr.flags = dice_roll(d, 8);
		if (!(s->arg.mr.flags & IBV_REREG_MR_CHANGE_ACCESS) && dice_percent(d, 80))
			s->arg.mr.access = 0;
	}
}

static void change_cq(struct dice *d, const struct model *m)
{
	int proc = dice_roll(d, PROCS), slot = dice_roll(d, CQS);

	if (!m->cq[proc][slot].live)
		make_cq(d, proc, slot);
	else if (dice_percent(d, 30))
		push_step(d, OP_DESTROY_CQ, proc, slot);
	else
		push_step(d, OP_RESIZE_CQ, proc, slot)->arg.cq.cqe =
			dice_percent(d, 30) ? dice_roll(d, 20) : 20 + dice_roll(d, 200);
}

static void change_srq(struct dice *d, const struct model *m)
{
	int proc = dice_roll(d, PROCS), slot = dice_percent(d, 15);
	const struct model_srq *srq = &m->srq[proc][slot];
	int posted = srq->rq.head - srq->rq.taken;

	if (!srq->live)
		make_srq(d, proc, slot);
	else if (dice_percent(d, 8))
		push_step(d, OP_DESTROY_SRQ, proc, slot);
	else if (dice_percent(d, 30))
		push_step(d, OP_MODIFY_SRQ, proc, slot)->arg.srq.max_wr = 1 + dice_roll(d, 40);
	else if (dice_percent(d, 30))
		push_step(d, OP_QUERY_SRQ, proc, slot);
	else
		push_step(d, OP_MODIFY_SRQ, proc, slot)->arg.srq.limit =
			dice_percent(d, 90) ? dice_roll(d, posted + 1)
					    : dice_roll(d, srq->rq.max_wr + 2);
}

static void change_qp(struct dice *d, const struct model *m)
{
	int slot = dice_roll(d, QPS);

	if (m->qp[slot].live)
		push_step(d, OP_DESTROY_QP, m->qp[slot].proc, slot);
	else
		make_qp(d, m, slot);
}

static void join_any(struct dice *d, const struct model *m)
{
	int a = any_qp(d, m), b = dice_percent(d, 85) ? a ^ 1 : (int)dice_roll(d, QPS);

	if (m->qp[a].live && m->qp[b].live)
		join_qps(d, m, a, b);
}

static void query_any(struct dice *d, const struct model *m)
{
	int slot = any_qp(d, m);

	push_step(d, OP_QUERY_QP, m->qp[slot].proc, slot);
}

static void notify_any(struct dice *d, const struct model *m)
{
	int proc = dice_roll(d, PROCS);

	push_step(d, OP_NOTIFY, proc, any_cq(d, m, proc))->arg.notify.solicited =
		dice_percent(d, 40);
}

static void take_cq_events(struct dice *d, const struct model *m)
{
	(void)m;
	push_step(d, OP_CQ_EVENTS, dice_roll(d, PROCS), 0);
}

static void take_async_events(struct dice *d, const struct model *m)
{
	(void)m;
	push_step(d, OP_ASYNC_EVENTS, dice_roll(d, PROCS), 0);
}

static void dealloc_any(struct dice *d, const struct model *m)
{
	(void)m;
	push_step(d, OP_DEALLOC_PD, dice_roll(d, PROCS), dice_roll(d, PDS));
}

static void fill_any(struct dice *d, const struct model *m)
{
	struct step *s = push_step(d, OP_FILL, dice_roll(d, PROCS), 0);

	(void)m;
	s->arg.fill.off = dice_roll(d, AREA);
	s->arg.fill.len = dice_roll(d, AREA - s->arg.fill.off) / 8;
	s->arg.fill.seed = model_random(&d->state);
}

/* clang-format off */
static const struct {
	unsigned int	weight;
	void		(*make)(struct dice *d, const struct model *m);
} faces[] = {
	{ 320, post_send },
	{ 240, post_recv },
	{ 260, poll_any },
	{ 40, notify_any },
	{ 30, take_cq_events },
	{ 20, take_async_events },
	{ 30, fill_any },
	{ 20, query_any },
	{ 40, modify_any },
	{ 15, join_any },
	{ 12, change_qp },
	{ 15, change_cq },
	{ 30, change_srq },
	{ 15, change_mr },
	{ 3, dealloc_any },
};
/* clang-format on */

static void any_step(struct dice *d, const struct model *m)
{
	unsigned int total = 0, i, at;

	for (i = 0; i < sizeof(faces) / sizeof(faces[0]); i++)
		total += faces[i].weight;
	at = dice_roll(d, total);
	for (i = 0; at >= faces[i].weight; i++)
		at -= faces[i].weight;
	faces[i].make(d, m);
}

static void drain_all(struct dice *d, const struct model *m)
{
	int p, i;

	for (p = 0; p < PROCS; p++)
		for (i = 0; i < CQS; i++)
			if (m->cq[p][i].live)
				push_step(d, OP_POLL, p, i)->arg.poll.num = POLL_MAX;
}

static void take_all_events(struct dice *d)
{
	int p;

	for (p = 0; p < PROCS; p++) {
		push_step(d, OP_CQ_EVENTS, p, 0);
		push_step(d, OP_ASYNC_EVENTS, p, 0);
	}
}

static void destroy_qps(struct dice *d, const struct model *m)
{
	int i;

	for (i = 0; i < QPS; i++)
		if (m->qp[i].live) {
			push_step(d, OP_QUERY_QP, m->qp[i].proc, i);
			push_step(d, OP_DESTROY_QP, m->qp[i].proc, i);
		}
}

static void destroy_rest(struct dice *d, const struct model *m)
{
	int p, i;

	for (p = 0; p < PROCS; p++) {
		for (i = 0; i < MRS; i++)
			if (m->mr[p][i].live)
				push_step(d, OP_DEREG_MR, p, i);
		for (i = 0; i < SRQS; i++)
			if (m->srq[p][i].live)
				push_step(d, OP_DESTROY_SRQ, p, i);
		for (i = 0; i < CQS; i++)
			if (m->cq[p][i].live)
				push_step(d, OP_DESTROY_CQ, p, i);
		for (i = 0; i < PDS; i++)
			push_step(d, OP_DEALLOC_PD, p, i);
	}
	take_all_events(d);
}

static void next_stage(struct dice *d, const struct model *m)
{
	unsigned int stage = d->stage++;

	if (stage < STAGE_QPS)
		make_objects(d, stage - STAGE_OBJECTS);
	else if (stage < STAGE_PAIRS)
		make_qp(d, m, stage - STAGE_QPS);
	else if (stage < STAGE_RANDOM)
		join_qps(d, m, (stage - STAGE_PAIRS) * 2, (stage - STAGE_PAIRS) * 2 + 1);
	else if (stage == STAGE_DRAIN)
		drain_all(d, m);
	else if (stage == STAGE_EVENTS)
		take_all_events(d);
	else if (stage == STAGE_DESTROY_QPS)
		destroy_qps(d, m);
	else if (stage == STAGE_DESTROY)
		destroy_rest(d, m);
	else if (d->left) {
		d->left--;
		d->stage = STAGE_RANDOM;
		any_step(d, m);
	}
}

bool dice_next(struct dice *d, const struct model *m, struct step *step)
{
	if (m->overrun && d->stage <= STAGE_DRAIN) {
		d->num = 0;
		d->stage = STAGE_EVENTS;
	}
	while (!d->num && d->stage != STAGE_END)
		next_stage(d, m);
	if (!d->num)
		return false;
	*step = d->queue[d->first];
	d->first = (d->first + 1) % QUEUE_MAX;
	d->num--;
	return true;
}
