/*
 * Steps and results as text, the same from run to run
 */
#include "tests/shim/soft/model/step.h"

#include <inttypes.h>

/* clang-format off */
static const char *const op_names[OPS] = {
	[OP_FILL]		= "fill",
	[OP_CREATE_CQ]		= "create_cq",
	[OP_RESIZE_CQ]		= "resize_cq",
	[OP_DESTROY_CQ]		= "destroy_cq",
	[OP_CREATE_SRQ]		= "create_srq",
	[OP_MODIFY_SRQ]		= "modify_srq",
	[OP_QUERY_SRQ]		= "query_srq",
	[OP_DESTROY_SRQ]	= "destroy_srq",
	[OP_REG_MR]		= "reg_mr",
	[OP_REREG_MR]		= "rereg_mr",
	[OP_DEREG_MR]		= "dereg_mr",
	[OP_DEALLOC_PD]		= "dealloc_pd",
	[OP_CREATE_QP]		= "create_qp",
	[OP_MODIFY_QP]		= "modify_qp",
	[OP_QUERY_QP]		= "query_qp",
	[OP_DESTROY_QP]		= "destroy_qp",
	[OP_POST_SEND]		= "post_send",
	[OP_POST_RECV]		= "post_recv",
	[OP_POST_SRQ_RECV]	= "post_srq_recv",
	[OP_POLL]		= "poll_cq",
	[OP_DRAIN]		= "drain",
	[OP_NOTIFY]		= "req_notify_cq",
	[OP_CQ_EVENTS]		= "get_cq_events",
	[OP_ASYNC_EVENTS]	= "get_async_events",
	[OP_NUDGE]		= "nudge",
};

static const char *const opcode_names[] = {
	[IBV_WR_RDMA_WRITE]		= "write",
	[IBV_WR_RDMA_WRITE_WITH_IMM]	= "write_imm",
	[IBV_WR_SEND]			= "send",
	[IBV_WR_SEND_WITH_IMM]		= "send_imm",
	[IBV_WR_RDMA_READ]		= "read",
	[IBV_WR_ATOMIC_CMP_AND_SWP]	= "cmp_swap",
	[IBV_WR_ATOMIC_FETCH_AND_ADD]	= "fetch_add",
};
/* clang-format on */

static const char *const state_names[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
};

static const char *const key_names[KEYS] = { "", "(other key)", "(old key)" };

uint32_t piece_total(const struct piece *sge, int num)
{
	uint32_t total = 0;
	int i;

	for (i = 0; i < num && i < SGE_MAX; i++)
		total += sge[i].len;
	return total;
}

static void piece_print(FILE *to, const struct piece *p)
{
	fprintf(to, "mr%d%s+%u:%u", p->mr, key_names[p->key], p->off, p->len);
}

static void request_print(FILE *to, const struct request *wr, bool send, bool datagrams)
{
	int i;

	fprintf(to, "\n\t\t%016" PRIx64, wr->wr_id);
	if (send)
		fprintf(to, " %s%s%s%s", opcode_names[wr->opcode],
			wr->flags & IBV_SEND_SIGNALED ? " signaled" : "",
			wr->flags & IBV_SEND_SOLICITED ? " solicited" : "",
			wr->flags & IBV_SEND_INLINE ? " inline" : "");
	fprintf(to, " {");
	for (i = 0; i < wr->num_sge && i < SGE_MAX; i++) {
		fprintf(to, i ? ", " : "");
		piece_print(to, &wr->sge[i]);
	}
	fprintf(to, wr->num_sge > SGE_MAX ? ", one too many}" : "}");
	if (!send)
		return;
	if (wr->opcode == IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		fprintf(to, " imm %x", wr->imm);
	if (datagrams)
		fprintf(to, " to qp %d%s", wr->dest, wr->other_qkey ? " other qkey" : "");
	if (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM)
		return;
	fprintf(to, " remote ");
	piece_print(to, &wr->remote);
}

static void arguments_print(FILE *to, const struct step *s)
{
	static const char *const faults[] = {
		"",
		" without one",
		" with qkey",
		" wrong value",
	};
	static const char *const hows[HOWS] = { "", " built", " aborted" };
	static const char *const masks[] = { "", " full", " access" };

	switch (s->op) {
	case OP_FILL:
		fprintf(to, " %u:%u", s->arg.fill.off, s->arg.fill.len);
		break;
	case OP_CREATE_CQ:
		fprintf(to, " cqe %d%s", s->arg.cq.cqe, s->arg.cq.extended ? " extended" : "");
		break;
	case OP_RESIZE_CQ:
		fprintf(to, " cqe %d", s->arg.cq.cqe);
		break;
	case OP_CREATE_SRQ:
		fprintf(to, " max_wr %d pd %d", s->arg.srq.max_wr, s->arg.srq.pd);
		break;
	case OP_MODIFY_SRQ:
		fprintf(to, s->arg.srq.max_wr ? " max_wr %d" : " limit %d",
			s->arg.srq.max_wr ? s->arg.srq.max_wr : s->arg.srq.limit);
		break;
	case OP_REREG_MR:
		fprintf(to, " flags %d", s->arg.mr.flags);
		/* fall through */
	case OP_REG_MR:
		fprintf(to, " %u:%u access %x pd %d", s->arg.mr.off, s->arg.mr.len,
			s->arg.mr.access, s->arg.mr.pd);
		break;
	case OP_CREATE_QP:
		fprintf(to,
			" %s%s pd %d send_cq %d recv_cq %d srq %d max_send_wr %d max_recv_wr %d "
			"max_inline %d%s",
			s->arg.qp.type == IBV_QPT_RC   ? "RC"
			: s->arg.qp.type == IBV_QPT_UC ? "UC"
						       : "UD",
			s->arg.qp.builders ? " builders" : "", s->arg.qp.pd, s->arg.qp.send_cq,
			s->arg.qp.recv_cq, s->arg.qp.srq, s->arg.qp.max_send_wr,
			s->arg.qp.max_recv_wr, s->arg.qp.max_inline,
			s->arg.qp.sig_all ? " sig_all" : "");
		break;
	case OP_MODIFY_QP:
		fprintf(to, " %s%s%s", state_names[s->arg.modify.to], masks[s->arg.modify.mask],
			faults[s->arg.modify.fault]);
		if (s->arg.modify.mask == MASK_STATE)
			break;
		if (s->arg.modify.to == IBV_QPS_RTR)
			fprintf(to, " dest %d rd %d", s->arg.modify.dest, s->arg.modify.rd);
		else if (s->arg.modify.mask == MASK_FULL && s->arg.modify.to == IBV_QPS_RTS)
			fprintf(to, " rnr_retry %d timeout %d retry_cnt %d rd %d",
				s->arg.modify.rnr_retry, s->arg.modify.timeout,
				s->arg.modify.retry_cnt, s->arg.modify.rd);
		else
			fprintf(to, " access %x", s->arg.modify.access);
		break;
	case OP_POST_SEND:
		fputs(hows[s->arg.send.how], to);
		break;
	case OP_POLL:
	case OP_DRAIN:
		fprintf(to, " %d", s->arg.poll.num);
		break;
	case OP_NOTIFY:
		fprintf(to, s->arg.notify.solicited ? " solicited" : " any");
		break;
	}
}

void step_print(FILE *to, const struct step *s)
{
	int i;

	fprintf(to, "p%d %s %d%s", s->proc, op_names[s->op], s->slot, s->added ? " (to wait)" : "");
	arguments_print(to, s);
	for (i = 0; i < s->num_wr; i++)
		request_print(to, &s->wr[i], s->op == OP_POST_SEND, s->arg.send.datagrams);
}

/* Only what is valid: ibv_poll_cq(3). */
void completion_print(FILE *to, const struct completion *wc)
{
	fprintf(to, "\n\t\t%016" PRIx64 " qp %d status %d", wc->wr_id, wc->qp, wc->status);
	if (wc->status != IBV_WC_SUCCESS)
		return;
	fprintf(to, " opcode %d flags %x", wc->opcode, wc->wc_flags);
	if (wc->opcode & IBV_WC_RECV || wc->opcode == IBV_WC_RDMA_READ ||
	    wc->opcode == IBV_WC_COMP_SWAP || wc->opcode == IBV_WC_FETCH_ADD)
		fprintf(to, " byte_len %u", wc->byte_len);
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		fprintf(to, " imm %x", wc->imm);
}

/* How often it checks for something, and so the value of errno, depends on timing. */
static bool op_looks(int op)
{
	return op == OP_DRAIN || op == OP_NUDGE || op == OP_CQ_EVENTS || op == OP_ASYNC_EVENTS ||
	       op == OP_DESTROY_CQ || op == OP_DESTROY_SRQ || op == OP_DESTROY_QP;
}

void result_print(FILE *to, const struct step *s, const struct result *r)
{
	int i;

	fprintf(to, "ret %d", r->ret);
	if (r->err)
		fprintf(to, " errno %d", r->err);
	if (r->left != UNTOUCHED && !op_looks(s->op))
		fprintf(to, " leaves errno %d", r->left);
	if (r->bad != NONE)
		fprintf(to, " bad_wr %d", r->bad);
	if (s->op == OP_QUERY_QP)
		fprintf(to, " %s access %x",
			r->state >= 0 && r->state <= 6 ? state_names[r->state] : "?", r->num);
	if (s->op == OP_REREG_MR && r->state)
		fprintf(to, " other keys");
	if (s->op == OP_QUERY_SRQ)
		fprintf(to, " limit %d max_wr %d", r->state, r->num);
	if (s->op == OP_POLL || s->op == OP_DRAIN)
		for (i = 0; i < r->num; i++)
			completion_print(to, &r->wc[i]);
	if (s->op == OP_CQ_EVENTS || s->op == OP_ASYNC_EVENTS)
		for (i = 0; i < r->num; i++)
			fprintf(to, "\n\t\ttype %d of %d", r->event[i].type, r->event[i].slot);
}
