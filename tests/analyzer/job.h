#pragma once
/*
 * Stories of a job: RANKS processes in a ring, each with one thread, a CQ for each of its two
 * queue pairs, and a region.
 *
 *	rank 0  qp[NEXT] <-> qp[PREVIOUS]  rank 1  qp[NEXT] <-> ...  rank 0
 *
 * Included by one test program at a time.
 */
#include "tests/analyzer/story.h"

enum { RANKS = 6, NEXT = 0, PREVIOUS = 1, ROOM = 4, AT = 0x7000, MS = 1000000, SECOND = 1000 * MS };

/* The site of the next posts; 0: not known. */
static uint16_t post_site;

static struct job_rank {
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_comp_channel channel; /* of both */
	struct ibv_cq cq[2];
	struct ibv_qp qp[2];
	struct ibv_mr mr;
} job[RANKS];

static inline void fill_rank(struct job_rank *rank, uint32_t number)
{
	*rank = (struct job_rank){ .context = { .num_comp_vectors = 1 },
				   .pd = { .context = &rank->context, .handle = 1 },
				   .channel = { .context = &rank->context, .fd = 5 } };
	rank->mr = (struct ibv_mr){ .context = &rank->context,
				    .pd = &rank->pd,
				    .addr = (void *)AT,
				    .length = 4096,
				    .lkey = 0x10,
				    .rkey = 0x11 };
	for (uint32_t i = 0; i < 2; i++) {
		rank->cq[i] = (struct ibv_cq){ .context = &rank->context,
					       .channel = &rank->channel,
					       .cqe = 16 };
		rank->qp[i] = (struct ibv_qp){ .context = &rank->context,
					       .pd = &rank->pd,
					       .send_cq = &rank->cq[i],
					       .recv_cq = &rank->cq[i],
					       .qp_num = 0x20 + 2 * number + i,
					       .qp_type = IBV_QPT_RC };
	}
}

static inline void modify_rank(struct story *s, int r, int side, int state, int to, int to_side)
{
	struct ibv_qp_attr attr = { .qp_state = (enum ibv_qp_state)state,
				    .port_num = 1,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = job[to].qp[to_side].qp_num,
				    .min_rnr_timer = 12,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .ah_attr = { .dlid = (uint16_t)(to + 1), .port_num = 1 } };
	static const int masks[] = {
		[IBV_QPS_INIT] =
			IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC
	};

	story_do(s, r, VERB_modify_qp, 30, 0, W(&job[r].qp[side]), W(&attr), W(masks[state]));
}

/* The queue pair of rank @r at this @side, to that of rank @to. */
static inline void connect_rank(struct story *s, int r, int side, int to, int to_side)
{
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		modify_rank(s, r, side, state, to, to_side);
}

static inline void make_rank(struct story *s, int r)
{
	struct job_rank *rank = &job[r];
	struct ibv_port_attr port = { .lid = (uint16_t)(r + 1) };

	story_do(s, r, VERB_open_device, 1, W(&rank->context), W(0x1000));
	story_do(s, r, VERB_query_port, 1, 0, W(&rank->context), W(1), W(&port), W(sizeof(port)));
	story_do(s, r, VERB_alloc_pd, 2, W(&rank->pd), W(&rank->context));
	story_do(s, r, VERB_create_comp_channel, 3, W(&rank->channel), W(&rank->context));
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr attr = { .send_cq = &rank->cq[i],
						 .recv_cq = &rank->cq[i],
						 .cap = { .max_send_wr = ROOM,
							  .max_recv_wr = ROOM },
						 .qp_type = IBV_QPT_RC };

		story_do(s, r, VERB_create_cq, 3, W(&rank->cq[i]), W(&rank->context), W(16), W(0),
			 W(&rank->channel), W(0));
		story_do(s, r, VERB_create_qp, 4, W(&rank->qp[i]), W(&rank->pd), W(&attr));
	}
	story_do(s, r, VERB_reg_mr, 5, W(&rank->mr), W(&rank->pd), W(AT), W(4096),
		 W(IBV_ACCESS_LOCAL_WRITE));
}

/* @ranks: the processes have the variables of a launcher. */
static inline void begin_ranks(struct story *s, bool ranks)
{
	char environ[32] = "";

	for (int r = 0; r < RANKS; r++) {
		if (ranks)
			snprintf(environ, sizeof(environ), "SLURM_PROCID=%d", r);
		story_environ = environ;
		if (r)
			story_thread(s, STORY_PID + r, 0, 0);
		else
			story_begin(s);
		fill_rank(&job[r], (uint32_t)r);
		make_rank(s, r);
	}
	story_environ = "";
}

/* All connected in a ring. */
static inline void begin_job(struct story *s)
{
	begin_ranks(s, true);
	for (int r = 0; r < RANKS; r++) {
		connect_rank(s, r, NEXT, (r + 1) % RANKS, PREVIOUS);
		connect_rank(s, r, PREVIOUS, (r + RANKS - 1) % RANKS, NEXT);
	}
}

static inline void post_one(struct story *s, int r, int side, enum verb verb, int flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);

	event->object = W(&job[r].qp[side]);
	event->verb = (uint16_t)verb;
	event->nwr = 1;
	event->site = post_site;
	wr->wr_id = 1;
	wr->opcode = verb == VERB_post_recv ? 0 : IBV_WR_SEND;
	wr->flags = (uint8_t)flags;
	wr->nsge = 1;
	*(struct event_sge *)(wr + 1) = (struct event_sge){ AT, 8, job[r].mr.lkey };
	story_event(s, r, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(struct event_sge)) / 8);
}

/* The rank posts from another place of the program from now on. */
static inline void begin_site(struct story *s, int r, uint16_t site)
{
	struct event_site *event = (struct event_site *)s->words;

	event->site = site;
	event->nframes = 1;
	*(uint64_t *)(event + 1) = 0x100 + site;
	story_event(s, r, EVENT_SITE, sizeof(*event) / 8 + 1);
	post_site = site;
}

static inline void arm_cq(struct story *s, int r, int side)
{
	struct event_notify *event = (struct event_notify *)s->words;

	event->cq = W(&job[r].cq[side]);
	story_event(s, r, EVENT_NOTIFY, sizeof(*event) / 8);
}

static inline struct story_call wait_event(struct story *s, int r)
{
	static struct ibv_cq *got;
	static void *context;

	return story_call(s, r, VERB_get_cq_event, 12, W(&job[r].channel), W(&got), W(&context));
}

static inline void post_receive(struct story *s, int r, int side)
{
	post_one(s, r, side, VERB_post_recv, 0);
}

static inline void post_send(struct story *s, int r, int side)
{
	post_one(s, r, side, VERB_post_send, IBV_SEND_SIGNALED);
}

/* One completion, after @empty polls of this CQ so far. */
static inline void poll_one(struct story *s, int r, int side, int opcode, uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s->words;

	event->cq = W(&job[r].cq[side]);
	event->empty = empty;
	event->ret = 1;
	event->nwc = 1;
	*(struct ibv_wc *)(event + 1) = (struct ibv_wc){ .wr_id = 1,
							 .opcode = (enum ibv_wc_opcode)opcode,
							 .byte_len = 8,
							 .qp_num = job[r].qp[side].qp_num };
	story_event(s, r, EVENT_POLL, (sizeof(*event) + sizeof(struct ibv_wc) + 7) / 8);
}

/* Set the total of rank @r's empty polls of a CQ. */
static inline void polls_in_vain(struct story *s, int r, int side)
{
	struct ring_head *head = &s->threads[r].head;
	int i = 0;

	while (head->polls[i].cq)
		i++;
	head->polls[i].cq = W(&job[r].cq[side]);
	head->polls[i].empty = 900;
}
