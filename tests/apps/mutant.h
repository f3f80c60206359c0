#pragma once
/*
 * A correct random program of verbs, and what its mistakes (mutant.c) are made with.
 *
 * Its queue pairs are connected to each other in pairs, on a completion queue of the pair.
 */
#include "tests/apps/app.h"

enum {
	STEPS = 30,
	AREA = 1 << 16,
	PIECE = 512,
	DEPTH = 8,
	LIST = 4,
	PATIENCE = 1000000, /* polls without a completion */
	QKEY = 0x1111,
};

static uint64_t dice;
static _Alignas(4096) char area[2][AREA];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mrs[2];              /* of both areas, with all rights */
static _Alignas(4096) char inbox[2][AREA]; /* for receives */
static struct ibv_mr *inboxes[2];
static bool numbered; /* each request has its own wr_id; else all have the same */
static uint64_t serial;

enum { SEND_ID = 1, RECEIVE_ID = 2 }; /* in the low bits of a wr_id */

static uint32_t roll_dice(uint32_t sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)(dice >> 20) % sides;
}

static uint64_t next_id(int kind)
{
	return (numbered ? ++serial << 2 : 0) | (uint64_t)kind;
}

/* Two queue pairs that are connected to each other, on a separate completion queue. */
struct pair {
	enum ibv_qp_type type;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_srq *srq;            /* of the second queue pair, or NULL */
	uint32_t depth[2];              /* of sends and of receives; 0: DEPTH */
	int cqe;                        /* 0: four times DEPTH */
	unsigned int signals, receives; /* completions that are still to come */
};

static struct ibv_qp *make_qp(struct pair *p, struct ibv_pd *of, uint32_t inlined)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = p->cq,
		.recv_cq = p->cq,
		.cap = { .max_send_wr = p->depth[0] ?: DEPTH,
			 .max_recv_wr = p->depth[1] ?: DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = inlined },
		.qp_type = p->type,
		.srq = p->qp[0] ? p->srq : NULL,
	};

	return NEED(ibv_create_qp(of, &attr));
}

/* With the sizes and the SRQ that it has. */
static void open_sized(struct pair *p, enum ibv_qp_type type)
{
	*p = (struct pair){
		.type = type, .srq = p->srq, .depth = { p->depth[0], p->depth[1] }, .cqe = p->cqe
	};
	if (roll_dice(2))
		p->channel = NEED(ibv_create_comp_channel(context));
	p->cq = NEED(ibv_create_cq(context, p->cqe ?: 4 * DEPTH, NULL, p->channel, 0));
	for (int i = 0; i < 2; i++) {
		p->qp[i] = make_qp(p, pd, 64);
		to_init(p->qp[i]);
	}
	for (int i = 0; i < 2; i++)
		MUST(to_rtr(p->qp[i], p->qp[!i]->qp_num, own_address(context, 0)));
	for (int i = 0; i < 2; i++)
		to_rts(p->qp[i]);
}

static void open_pair(struct pair *p, enum ibv_qp_type type)
{
	*p = (struct pair){ 0 };
	open_sized(p, type);
}

static void note_completion(struct pair *p, const struct ibv_wc *wc)
{
	if (wc->wr_id & RECEIVE_ID) /* it is valid on an error, too */
		p->receives--;
	else
		p->signals--;
}

static void drain_pair(struct pair *p)
{
	struct ibv_wc wc[LIST];

	for (int idle = 0; (p->signals || p->receives) && idle < PATIENCE; idle++) {
		int n = ibv_poll_cq(p->cq, (int)roll_dice(LIST) + 1, wc);

		for (int i = 0; i < n; i++)
			note_completion(p, &wc[i]);
		if (n > 0)
			idle = 0;
	}
}

/* Posted requests are flushed and polled first. */
static void flush_pair(struct pair *p)
{
	if (!p->cq)
		return;
	for (int i = 0; i < 2; i++)
		if (p->qp[i])
			to_err(p->qp[i]);
	drain_pair(p);
	for (struct ibv_wc wc; ibv_poll_cq(p->cq, 1, &wc) > 0;)
		;
}

static void close_pair(struct pair *p)
{
	flush_pair(p);
	for (int i = 0; i < 2; i++)
		if (p->qp[i])
			MUST(ibv_destroy_qp(p->qp[i]));
	if (p->cq)
		MUST(ibv_destroy_cq(p->cq));
	if (p->channel)
		MUST(ibv_destroy_comp_channel(p->channel));
}

/* Correct work */

/* LIST pieces in a row do not overlap. */
static struct ibv_sge piece_of(int side)
{
	enum { SHARE = AREA / LIST };
	static uint32_t turn;
	uint32_t length = 8 + roll_dice(PIECE), start = turn++ % LIST * SHARE;

	return (struct ibv_sge){ (uintptr_t)area[side] + start + roll_dice(SHARE - PIECE - 8),
				 length, mrs[side]->lkey };
}

static int post_receive(struct pair *p, int side, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = next_id(RECEIVE_ID), .sg_list = &sge, .num_sge = 1 },
			   *bad;
	int err = ibv_post_recv(p->qp[side], &wr, &bad);

	p->receives += !err;
	return err;
}

/* The places of receives take turns. */
static struct ibv_sge next_place(int side, uint32_t length)
{
	static uint32_t turn[2];
	uint32_t start = turn[side]++ * 2 * PIECE % AREA;

	return (struct ibv_sge){ (uintptr_t)inbox[side] + start, length, inboxes[side]->lkey };
}

/* A receive for any message of this program. */
static void await_message(struct pair *p, int side)
{
	MUST(post_receive(p, side, next_place(side, 2 * PIECE)));
}

/* Random, of what the transport supports; signalled. */
static struct ibv_send_wr make_request(const struct pair *p, struct ibv_sge *sge, int side)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						      IBV_WR_RDMA_WRITE_WITH_IMM,
						      IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ };
	struct ibv_send_wr wr = { .wr_id = next_id(SEND_ID),
				  .sg_list = sge,
				  .num_sge = 1,
				  .opcode = opcodes[roll_dice(p->type == IBV_QPT_RC ? 5 : 4)],
				  .send_flags = IBV_SEND_SIGNALED };

	*sge = piece_of(side);
	wr.wr.rdma.remote_addr = (uintptr_t)area[!side] + roll_dice(AREA - PIECE - 8);
	wr.wr.rdma.rkey = mrs[!side]->rkey;
	if (sge->length <= 64 && wr.opcode != IBV_WR_RDMA_READ && roll_dice(2))
		wr.send_flags |= IBV_SEND_INLINE;
	return wr;
}

static bool takes_receive(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_RDMA_WRITE && wr->opcode != IBV_WR_RDMA_READ;
}

static int post_one(struct pair *p, int side, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int err;

	if (takes_receive(wr))
		await_message(p, !side);
	err = ibv_post_send(p->qp[side], wr, &bad);
	p->signals += !err && (wr->send_flags & IBV_SEND_SIGNALED);
	return err;
}

/* A list of requests, the last of them signalled. */
static void send_list(struct pair *p)
{
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	unsigned int n = 1 + roll_dice(LIST);
	int side = (int)roll_dice(2);

	for (unsigned int i = 0; i < n; i++) {
		wr[i] = make_request(p, &sge[i], side);
		if (i + 1 < n) {
			wr[i].next = &wr[i + 1];
			wr[i].send_flags &= ~(unsigned int)(roll_dice(2) ? IBV_SEND_SIGNALED : 0);
		}
		if (takes_receive(&wr[i]))
			await_message(p, !side);
		p->signals += !!(wr[i].send_flags & IBV_SEND_SIGNALED);
	}
	MUST(ibv_post_send(p->qp[side], wr, &bad));
}

static void exchange_messages(struct pair *p)
{
	send_list(p);
	drain_pair(p);
}

static void exchange_by_event(struct pair *p)
{
	struct ibv_cq *cq;
	void *unused;

	if (!p->channel)
		return exchange_messages(p);
	MUST(ibv_req_notify_cq(p->cq, 0));
	send_list(p);
	MUST(ibv_get_cq_event(p->channel, &cq, &unused));
	ibv_ack_cq_events(cq, 1);
	drain_pair(p);
}

static void use_memory(struct pair *p)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, area[0], AREA, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge sge = { (uintptr_t)area[0], 64, mr->lkey };
	struct ibv_send_wr wr = make_request(p, &sge, 0);

	wr.opcode = IBV_WR_SEND;
	sge = (struct ibv_sge){ (uintptr_t)area[0] + roll_dice(1024), 64, mr->lkey };
	MUST(post_one(p, 0, &wr));
	drain_pair(p);
	MUST(ibv_dereg_mr(mr));
}

static void query_things(struct pair *p)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(p->qp[roll_dice(2)], &attr, IBV_QP_STATE, &init));
}

static void do_step(struct pair *p)
{
	static void (*const steps[])(struct pair * p) = { exchange_messages, exchange_messages,
							  exchange_by_event, use_memory,
							  query_things };

	steps[roll_dice(sizeof(steps) / sizeof(steps[0]))](p);
}

/* What mistakes are made with */

static void have_channel(struct pair *p)
{
	while (!p->channel) {
		close_pair(p);
		open_pair(p, IBV_QPT_RC);
	}
}

/* A request with a mistake in it; its completion is polled. */
static void send_wrong(struct pair *p, struct ibv_send_wr *wr)
{
	int before = (int)p->signals;

	if (post_one(p, 0, wr) || before == (int)p->signals)
		return;
	drain_pair(p);
}

static struct ibv_send_wr plain_write(struct pair *p, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = make_request(p, sge, 0);

	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	return wr;
}

/* Write to the peer's first area, or read from it. */
static struct ibv_send_wr plain_access(struct pair *p, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = plain_write(p, sge);

	if (roll_dice(2))
		wr.opcode = IBV_WR_RDMA_READ;
	return wr;
}

/* Receive a completion event of the pair's CQ. */
static struct ibv_cq *get_event(struct pair *p)
{
	struct ibv_cq *cq = NULL;
	void *unused;

	MUST(ibv_req_notify_cq(p->cq, 0));
	send_list(p);
	MUST(ibv_get_cq_event(p->channel, &cq, &unused));
	drain_pair(p);
	return cq;
}

static uint32_t room_for_sends(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	return attr.cap.max_send_wr;
}
