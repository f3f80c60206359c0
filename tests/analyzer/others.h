#pragma once
/*
 * Stories of two processes with two connections.
 *
 * Included by one test program at a time, after story.h.
 */
#include "tests/analyzer/ends.h"

/* The second pair of queue pairs of the two processes. */
static struct end others[2];

static inline void connect_others(struct story *s)
{
	struct end first[2] = { ends[0], ends[1] };

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr attr = { .send_cq = &ends[i].cq,
						 .recv_cq = &ends[i].cq,
						 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
						 .qp_type = IBV_QPT_RC };

		others[i] = ends[i];
		others[i].qp.qp_num = 0x31 + (uint32_t)i;
		story_do(s, i, VERB_create_qp, 4, W(&others[i].qp), W(&ends[i].pd), W(&attr));
	}
	for (int i = 0; i < 2; i++) {
		struct ibv_qp_attr attr = ends[i].attr;
		const uint64_t qp = W(&others[i].qp);

		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = 1;
		attr.qp_access_flags = FAR;
		story_do(s, i, VERB_modify_qp, 30, 0, qp, W(&attr),
			 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
		attr.qp_state = IBV_QPS_RTR;
		attr.dest_qp_num = 0x32 - (uint32_t)i;
		attr.ah_attr.dlid = first[!i].lid;
		attr.ah_attr.port_num = 1;
		story_do(s, i, VERB_modify_qp, 31, 0, qp, W(&attr),
			 W(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
		attr.qp_state = IBV_QPS_RTS;
		story_do(s, i, VERB_modify_qp, 32, 0, qp, W(&attr),
			 W(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
	}
}
