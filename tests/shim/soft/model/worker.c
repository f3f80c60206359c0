/*
 * One of the two processes: its objects, and the verb of each step
 */
#include "tests/shim/soft/model/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct ibv_context *open_first(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (list)
		ibv_free_device_list(list);
	return context;
}

struct worker *worker_open(struct board *board, int proc)
{
	struct worker *w = calloc(1, sizeof(*w));

	w->board = board;
	w->proc = proc;
	w->context = open_first();
	if (!w->context)
		return NULL;
	fcntl(w->context->async_fd, F_SETFL, O_NONBLOCK);
	w->channel = ibv_create_comp_channel(w->context);
	w->idle = ibv_create_cq(w->context, 1, NULL, NULL, 0);
	w->pd[0] = ibv_alloc_pd(w->context);
	w->pd[1] = ibv_alloc_pd(w->context);
	if (!w->channel || !w->idle || !w->pd[0] || !w->pd[1])
		return NULL;
	fcntl(w->channel->fd, F_SETFL, O_NONBLOCK);
	return w;
}

bool worker_close(struct worker *w)
{
	bool good;

	if (!w)
		return false;
	good = !ibv_dealloc_pd(w->pd[0]) && !ibv_dealloc_pd(w->pd[1]) && !ibv_destroy_cq(w->idle) &&
	       !ibv_destroy_comp_channel(w->channel) && !ibv_close_device(w->context);
	free(w);
	return good;
}

static uint64_t now_ms(void) /* ms */
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ull + ts.tv_nsec / 1000000;
}

static void note_object(struct result *r, const void *made)
{
	r->ret = made ? 0 : -1;
	r->err = made ? 0 : errno;
}

static void create_cq(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = s->arg.cq.cqe,
		.channel = w->channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_cq *cq;

	if (s->arg.cq.extended)
		cq = (struct ibv_cq *)ibv_create_cq_ex(w->context, &attr);
	else
		cq = ibv_create_cq(w->context, s->arg.cq.cqe, NULL, w->channel, 0);
	note_object(r, cq);
	w->cq[s->slot] = cq;
	w->extended[s->slot] = s->arg.cq.extended;
}

static void resize_cq(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_resize_cq(w->cq[s->slot], s->arg.cq.cqe);
}

static void destroy_cq(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_destroy_cq(w->cq[s->slot]);
	if (!r->ret)
		w->cq[s->slot] = NULL;
}

static void create_srq(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = s->arg.srq.max_wr, .max_sge = SGE_MAX },
	};

	w->srq[s->slot] = ibv_create_srq(w->pd[s->arg.srq.pd], &attr);
	note_object(r, w->srq[s->slot]);
}

static void modify_srq(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_srq_attr attr = { .srq_limit = s->arg.srq.limit, .max_wr = s->arg.srq.max_wr };

	r->ret = ibv_modify_srq(w->srq[s->slot], &attr,
				s->arg.srq.max_wr ? IBV_SRQ_MAX_WR : IBV_SRQ_LIMIT);
}

static void query_srq(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_srq_attr attr = { 0 };

	r->ret = ibv_query_srq(w->srq[s->slot], &attr);
	r->state = attr.srq_limit;
	r->num = attr.max_wr;
}

static void destroy_srq(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_destroy_srq(w->srq[s->slot]);
	if (!r->ret)
		w->srq[s->slot] = NULL;
}

static void tell_keys(struct worker *w, int slot)
{
	struct keys *keys = &w->board->mr[w->proc][slot];

	*keys = (struct keys){ w->mr[slot]->lkey, w->mr[slot]->rkey, keys->lkey, keys->rkey };
}

static void reg_mr(struct worker *w, const struct step *s, struct result *r)
{
	uint8_t *at = w->board->area[w->proc] + s->arg.mr.off;

	w->mr[s->slot] = ibv_reg_mr(w->pd[s->arg.mr.pd], at, s->arg.mr.len, (int)s->arg.mr.access);
	note_object(r, w->mr[s->slot]);
	if (w->mr[s->slot])
		tell_keys(w, s->slot);
}

static void rereg_mr(struct worker *w, const struct step *s, struct result *r)
{
	uint8_t *at = w->board->area[w->proc] + s->arg.mr.off;

	r->ret = ibv_rereg_mr(w->mr[s->slot], s->arg.mr.flags, w->pd[s->arg.mr.pd], at,
			      s->arg.mr.len, s->arg.mr.access);
	if (r->ret) {
		r->err = errno;
		return;
	}
	r->state = w->mr[s->slot]->lkey != w->board->mr[w->proc][s->slot].lkey;
	if (r->state)
		tell_keys(w, s->slot);
}

static void dereg_mr(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_dereg_mr(w->mr[s->slot]);
	if (!r->ret)
		w->mr[s->slot] = NULL;
}

static void dealloc_pd(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_dealloc_pd(w->pd[s->slot]);
	if (!r->ret)
		w->pd[s->slot] = ibv_alloc_pd(w->context);
}

static struct ibv_qp *create_extended(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};

	if (attr->qp_type != IBV_QPT_UD)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (attr->qp_type == IBV_QPT_RC)
		ops |= IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	ex.send_ops_flags = ops;
	return ibv_create_qp_ex(pd->context, &ex);
}

static struct ibv_ah *make_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };

	return ibv_create_ah(pd, &attr);
}

static void create_qp(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = w->cq[s->arg.qp.send_cq],
		.recv_cq = w->cq[s->arg.qp.recv_cq],
		.srq = s->arg.qp.srq == NONE ? NULL : w->srq[s->arg.qp.srq],
		.cap = { s->arg.qp.max_send_wr, s->arg.qp.max_recv_wr, SGE_MAX, SGE_MAX,
			 s->arg.qp.max_inline },
		.qp_type = s->arg.qp.type,
		.sq_sig_all = s->arg.qp.sig_all,
	};
	struct ibv_pd *pd = w->pd[s->arg.qp.pd];

	w->qp[s->slot] = s->arg.qp.builders ? create_extended(pd, &attr) : ibv_create_qp(pd, &attr);
	note_object(r, w->qp[s->slot]);
	if (!w->qp[s->slot])
		return;
	w->board->qpn[s->slot] = w->qp[s->slot]->qp_num;
	if (s->arg.qp.type == IBV_QPT_UD)
		w->ah[s->slot] = make_ah(pd);
}

static int full_mask(int type, int to)
{
	bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;

	switch (to) {
	case IBV_QPS_INIT:
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		return (ud ? 0 : IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) |
		       (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	case IBV_QPS_RTS:
		return IBV_QP_SQ_PSN | (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
							IBV_QP_MAX_QP_RD_ATOMIC
					   : 0);
	default:
		return 0;
	}
}

static int mask_of(int type, const struct step *s)
{
	int mask = IBV_QP_STATE;

	if (s->arg.modify.mask == MASK_FULL)
		mask |= full_mask(type, s->arg.modify.to);
	if (s->arg.modify.mask == MASK_ACCESS)
		mask |= IBV_QP_ACCESS_FLAGS;
	if (s->arg.modify.fault == FAULT_MISSING)
		mask &= ~(IBV_QP_PORT | IBV_QP_DEST_QPN | IBV_QP_SQ_PSN);
	if (s->arg.modify.fault == FAULT_EXTRA)
		mask |= type == IBV_QPT_UD ? IBV_QP_DEST_QPN : IBV_QP_QKEY;
	return mask;
}

static void modify_qp(struct worker *w, const struct step *s, struct result *r)
{
	bool wrong = s->arg.modify.fault == FAULT_VALUE;
	struct ibv_qp_attr attr = {
		.qp_state = s->arg.modify.to,
		.port_num = wrong ? 2 : 1,
		.qkey = QKEY,
		.qp_access_flags = s->arg.modify.access,
		.path_mtu = wrong ? 9 : IBV_MTU_1024,
		.dest_qp_num = w->board->qpn[s->arg.modify.dest],
		.max_dest_rd_atomic = s->arg.modify.rd,
		.max_rd_atomic = s->arg.modify.rd,
		.min_rnr_timer = 1,
		.ah_attr = { .dlid = 1, .port_num = 1 },
		.timeout = s->arg.modify.timeout,
		.retry_cnt = wrong ? 9 : s->arg.modify.retry_cnt,
		.rnr_retry = s->arg.modify.rnr_retry,
	};

	r->ret = ibv_modify_qp(w->qp[s->slot], &attr, mask_of(w->qp[s->slot]->qp_type, s));
}

static void query_qp(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	r->ret = ibv_query_qp(w->qp[s->slot], &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS, &init);
	r->state = attr.qp_state;
	r->num = attr.qp_access_flags;
}

static void destroy_qp(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_destroy_qp(w->qp[s->slot]);
	if (r->ret)
		return;
	w->qp[s->slot] = NULL;
	if (w->ah[s->slot])
		r->ret = ibv_destroy_ah(w->ah[s->slot]);
	w->ah[s->slot] = NULL;
}

static int qp_slot(const struct worker *w, uint32_t qpn)
{
	int i;

	for (i = 0; i < QPS; i++)
		if (w->qp[i] && w->qp[i]->qp_num == qpn)
			return i;
	return NONE;
}

/* A slot of either process. */
static int any_slot(const struct worker *w, uint32_t qpn)
{
	int i;

	for (i = 0; i < QPS; i++)
		if (w->board->qpn[i] == qpn)
			return i;
	return NONE;
}

static int poll_plain(struct worker *w, struct ibv_cq *cq, int num, struct completion *out)
{
	struct ibv_wc wc[POLL_MAX];
	int i, n;

	memset(wc, 0, sizeof(wc[0]) * num);
	n = ibv_poll_cq(cq, num, wc);
	for (i = 0; i < n; i++)
		out[i] = (struct completion){ wc[i].wr_id,
					      wc[i].status,
					      wc[i].opcode,
					      qp_slot(w, wc[i].qp_num),
					      any_slot(w, wc[i].src_qp),
					      wc[i].wc_flags,
					      wc[i].byte_len,
					      wc[i].imm_data,
					      wc[i].vendor_err };
	return n;
}

static struct completion read_current(struct worker *w, struct ibv_cq_ex *cq)
{
	struct completion c = {
		.wr_id = cq->wr_id,
		.status = cq->status,
		.qp = qp_slot(w, ibv_wc_read_qp_num(cq)),
		.vendor_err = ibv_wc_read_vendor_err(cq),
	};

	if (c.status != IBV_WC_SUCCESS)
		return c; /* no other field is valid */
	c.opcode = ibv_wc_read_opcode(cq);
	c.wc_flags = ibv_wc_read_wc_flags(cq);
	c.byte_len = ibv_wc_read_byte_len(cq);
	c.src_qp = any_slot(w, ibv_wc_read_src_qp(cq));
	if (c.wc_flags & IBV_WC_WITH_IMM)
		c.imm = ibv_wc_read_imm_data(cq);
	return c;
}

static int poll_extended(struct worker *w, struct ibv_cq *cq, int num, struct completion *out)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq;
	struct ibv_poll_cq_attr attr = { 0 };
	int err, n = 0;

	if (!num)
		return 0;
	err = ibv_start_poll(ex, &attr);
	if (err)
		return err == ENOENT ? 0 : -1;
	do
		out[n++] = read_current(w, ex);
	while (n < num && !ibv_next_poll(ex));
	ibv_end_poll(ex);
	return n;
}

static int poll_some(struct worker *w, int slot, int num, struct completion *out)
{
	return w->extended[slot] ? poll_extended(w, w->cq[slot], num, out)
				 : poll_plain(w, w->cq[slot], num, out);
}

static void poll_cq(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = poll_some(w, s->slot, s->arg.poll.num, r->wc);
	r->num = r->ret < 0 ? 0 : r->ret;
}

static void drain_cq(struct worker *w, const struct step *s, struct result *r)
{
	uint64_t until = now_ms() + w->board->patience;
	int n = 0;

	while (r->num < s->arg.poll.num && n >= 0 && now_ms() < until) {
		n = poll_some(w, s->slot, s->arg.poll.num - r->num, r->wc + r->num);
		if (n > 0)
			r->num += n;
		else
			sched_yield();
	}
	r->ret = n < 0 ? n : r->num;
}

static void notify_cq(struct worker *w, const struct step *s, struct result *r)
{
	r->ret = ibv_req_notify_cq(w->cq[s->slot], s->arg.notify.solicited);
}

static int cq_slot(const struct worker *w, const struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < CQS; i++)
		if (w->cq[i] == cq)
			return i;
	return NONE;
}

static void cq_events(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_cq *cq;
	void *context;

	(void)s;
	while (r->num < EVENT_MAX && ibv_get_cq_event(w->channel, &cq, &context) == 0) {
		r->event[r->num++] = (struct happening){ NONE, cq_slot(w, cq) };
		ibv_ack_cq_events(cq, 1);
	}
}

static int srq_slot(const struct worker *w, const struct ibv_srq *srq)
{
	int i;

	for (i = 0; i < SRQS; i++)
		if (w->srq[i] == srq)
			return i;
	return NONE;
}

static struct happening normal_event(const struct worker *w, const struct ibv_async_event *event)
{
	struct happening e = { event->event_type, NONE };

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		e.slot = cq_slot(w, event->element.cq);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		e.slot = srq_slot(w, event->element.srq);
		break;
	default:
		e.slot = qp_slot(w, event->element.qp->qp_num);
		break;
	}
	return e;
}

static void nudge_peer(struct worker *w, const struct step *s, struct result *r)
{
	struct ibv_wc wc;

	(void)s;
	r->ret = ibv_poll_cq(w->idle, 1, &wc);
}

static void async_events(struct worker *w, const struct step *s, struct result *r)
{
	uint64_t until = now_ms() + w->board->patience;
	struct ibv_async_event event;
	int errors = 0;

	do {
		while (r->num < EVENT_MAX && ibv_get_async_event(w->context, &event) == 0) {
			r->event[r->num++] = normal_event(w, &event);
			errors += event.event_type == IBV_EVENT_CQ_ERR;
			ibv_ack_async_event(&event);
		}
		if (errors < s->arg.poll.num)
			nudge_peer(w, s, r);
	} while (errors < s->arg.poll.num && now_ms() < until);
}

typedef void verb_fn(struct worker *w, const struct step *s, struct result *r);

/* clang-format off */
static verb_fn *const verbs[OPS] = {
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
	[OP_POST_SEND]		= worker_post_send,
	[OP_POST_RECV]		= worker_post_recv,
	[OP_POST_SRQ_RECV]	= worker_post_recv,
	[OP_POLL]		= poll_cq,
	[OP_DRAIN]		= drain_cq,
	[OP_NOTIFY]		= notify_cq,
	[OP_CQ_EVENTS]		= cq_events,
	[OP_ASYNC_EVENTS]	= async_events,
	[OP_NUDGE]		= nudge_peer,
};
/* clang-format on */

void worker_do(struct worker *w, const struct step *step, struct result *r)
{
	r->bad = NONE;
	errno = UNTOUCHED;
	if (verbs[step->op])
		verbs[step->op](w, step, r);
	r->left = errno;
}
