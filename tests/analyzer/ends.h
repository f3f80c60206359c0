#pragma once
/*
 * Stories of two connected processes: threads 0 and 1, each with a connected queue pair and its own
 * region at the same address.
 *
 * Included by one test program at a time, after story.h.
 */
#include "tests/analyzer/story.h"

enum {
	AT = 0x7000,
	LENGTH = 4096,
	PEER = 200,
	FAR = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
};

/* The objects of a process; the two are threads 0 and 1 of the story. */
static struct end {
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_cq cq;
	struct ibv_qp qp;
	struct ibv_mr mr;
	uint16_t lid;
	struct ibv_qp_attr attr; /* the attributes that connect it */
} ends[2];

/* The transport of each. Set before begin_story(). */
static int end_types[2] = { IBV_QPT_RC, IBV_QPT_RC };

/* The max_inline_data that each asks for. Set before begin_story(). */
static uint32_t end_inline;

/* The completion channel of process PEER's CQ; NULL: it has none. Set before begin_story(). */
static struct ibv_comp_channel *peer_channel;

static inline void fill_end(struct end *end, uint32_t number, uint32_t key)
{
	*end = (struct end){ .lid = (uint16_t)number,
			     .attr = { .path_mtu = IBV_MTU_1024,
				       .max_rd_atomic = 1,
				       .max_dest_rd_atomic = 1,
				       .min_rnr_timer = 12,
				       .timeout = 14,
				       .retry_cnt = 7,
				       .rnr_retry = 2 } };
	end->context.num_comp_vectors = 1;
	end->pd = (struct ibv_pd){ .context = &end->context, .handle = 1 };
	end->cq = (struct ibv_cq){ .context = &end->context,
				   .channel = end == &ends[1] ? peer_channel : NULL,
				   .cqe = 16 };
	end->qp = (struct ibv_qp){ .context = &end->context,
				   .pd = &end->pd,
				   .send_cq = &end->cq,
				   .recv_cq = &end->cq,
				   .qp_num = number,
				   .qp_type = end_types[end - ends] };
	end->mr = (struct ibv_mr){ .context = &end->context,
				   .pd = &end->pd,
				   .addr = (void *)AT,
				   .length = LENGTH,
				   .lkey = key,
				   .rkey = key + 1 };
}

static inline void make_end(struct story *s, int thread)
{
	struct end *end = &ends[thread];
	struct ibv_port_attr port = { .lid = end->lid };
	struct ibv_qp_init_attr attr = {
		.send_cq = &end->cq,
		.recv_cq = &end->cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_inline_data = end_inline },
		.qp_type = end->qp.qp_type
	};

	story_do(s, thread, VERB_open_device, 1, W(&end->context), W(0x1000));
	story_do(s, thread, VERB_query_port, 1, 0, W(&end->context), W(1), W(&port),
		 W(sizeof(port)));
	story_do(s, thread, VERB_alloc_pd, 2, W(&end->pd), W(&end->context));
	if (end->cq.channel)
		story_do(s, thread, VERB_create_comp_channel, 3, W(end->cq.channel),
			 W(&end->context));
	story_do(s, thread, VERB_create_cq, 3, W(&end->cq), W(&end->context), W(16), W(0),
		 W(end->cq.channel), W(0));
	story_do(s, thread, VERB_create_qp, 4, W(&end->qp), W(&end->pd), W(&attr));
}

/* Connect the queue pair of @end, which belongs to the process of @thread. */
static inline void connect_qp(struct story *s, int thread, const struct end *end, uint32_t number,
			      uint16_t lid, int access)
{
	struct ibv_qp_attr attr = end->attr;
	const uint64_t qp = W(&end->qp);

	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = (unsigned int)access;
	story_do(s, thread, VERB_modify_qp, 30, 0, qp, W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.dest_qp_num = number;
	attr.ah_attr.dlid = lid;
	attr.ah_attr.port_num = 1;
	story_do(s, thread, VERB_modify_qp, 31, 0, qp, W(&attr),
		 W(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	story_do(s, thread, VERB_modify_qp, 32, 0, qp, W(&attr),
		 W(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static inline void connect_end(struct story *s, int thread, uint32_t number, uint16_t lid,
			       int access)
{
	connect_qp(s, thread, &ends[thread], number, lid, access);
}

/* The queue pairs 0x21 and 0x22, each with a region, not connected yet. */
static inline void begin_ends(struct story *s)
{
	fill_end(&ends[0], 0x21, 0x10);
	fill_end(&ends[1], 0x22, 0x20);
	story_begin(s);
	assert_int_equal(story_thread(s, PEER, 0, 0), 1);
	make_end(s, 0);
	make_end(s, 1);
}

static inline void register_as(struct story *s, int thread, struct ibv_mr *mr, int access)
{
	story_do(s, thread, VERB_reg_mr, 5, W(mr), W(mr->pd), W(mr->addr), W(mr->length),
		 W(access));
}

static inline void begin_story(struct story *s)
{
	begin_ends(s);
	connect_end(s, 0, 0x22, 0x22, FAR);
	connect_end(s, 1, 0x21, 0x21, FAR);
	register_as(s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(s, 1, &ends[1].mr, FAR);
}

/* Process 1 writes or reads @length bytes. */
static inline void post_rdma(struct story *s, int opcode, uint64_t remote, uint32_t length,
			     uint32_t rkey)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(rdma + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	wr->wr_id = 1;
	wr->opcode = (uint8_t)opcode;
	wr->flags = IBV_SEND_SIGNALED;
	wr->nsge = 1;
	wr->parts = WR_RDMA;
	rdma->remote_addr = remote;
	rdma->rkey = rkey;
	*sge = (struct event_sge){ AT, length, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*rdma) + sizeof(*sge)) / 8);
}

static inline void poll_as(struct story *s, int status)
{
	story_poll(s, 0, &ends[0].cq, 1, status, ends[0].qp.qp_num);
}
