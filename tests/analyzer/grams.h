#pragma once
/*
 * Stories of datagrams from process 1 to process 2, whose queue pairs 0x21 and 0x22 are of type UD.
 *
 * Included by one test program at a time.
 */
#include "tests/analyzer/ends.h"

enum { QKEY = 0x1111, OWN = 1u << 31, BYTES = 1024 };

static struct ibv_ah handle;
static uint8_t gram_flags; /* enum ibv_send_flags */

/* Up to RTS; @qkey is the queue pair's own. */
static inline void ready_end(struct story *s, int thread, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };
	const uint64_t qp = W(&ends[thread].qp);

	story_do(s, thread, VERB_modify_qp, 30, 0, qp, W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	story_do(s, thread, VERB_modify_qp, 31, 0, qp, W(&attr), W(IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	story_do(s, thread, VERB_modify_qp, 32, 0, qp, W(&attr), W(IBV_QP_STATE | IBV_QP_SQ_PSN));
}

/* The address handle of the first process leads to @lid. */
static inline void make_ah(struct story *s, uint16_t lid)
{
	struct ibv_ah_attr attr = { .dlid = lid, .port_num = 1 };

	handle = (struct ibv_ah){ .context = &ends[0].context, .pd = &ends[0].pd };
	story_do(s, 0, VERB_create_ah, 7, W(&handle), W(&ends[0].pd), W(&attr));
}

/* Two processes; the first has an address handle to @lid, the second a receive. */
static inline void begin_grams(struct story *s, uint32_t own_qkey, uint16_t lid, uint32_t receive)
{
	end_types[0] = end_types[1] = IBV_QPT_UD;
	begin_ends(s);
	end_types[0] = end_types[1] = IBV_QPT_RC;
	ready_end(s, 0, own_qkey);
	ready_end(s, 1, QKEY);
	make_ah(s, lid);
	if (receive)
		story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0,
			   (struct event_sge){ AT, receive, 0x20 });
}

static inline void send_gram(struct story *s, uint32_t number, uint32_t qkey, uint32_t length)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_ud *ud = (struct event_ud *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(ud + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 1, .opcode = IBV_WR_SEND, .flags = gram_flags, .nsge = 1, .parts = WR_UD
	};
	*ud = (struct event_ud){ .ah = W(&handle), .remote_qpn = number, .remote_qkey = qkey };
	*sge = (struct event_sge){ AT, length, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*ud) + sizeof(*sge)) / 8);
}
