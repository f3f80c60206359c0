/*
 * COMPL-003: a completion event is got and never acknowledged, and the destroy
 * of its CQ waits for that until an alarm ends the program.
 */
#include <unistd.h>

#include "tests/apps/app.h"

enum { PORT = 1 };

static void to_rts(struct ibv_qp *qp, uint16_t lid, union ibv_gid gid)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .dlid = lid,
			     .port_num = PORT,
			     .is_global = lid == 0,
			     .grh = { .dgid = gid, .hop_limit = 1 } },
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	MUST(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS));
	MUST(ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	MUST(ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC));
}

/* A queue pair that is connected to itself sends an empty message. */
static void cause_completion(struct ibv_context *context, struct ibv_qp *qp)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_port_attr port;
	union ibv_gid gid;

	MUST(ibv_query_port(context, PORT, &port));
	MUST(ibv_query_gid(context, PORT, 0, &gid));
	to_rts(qp, port.lid, gid);
	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &send, &bad));
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, channel, 0)), *got;
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	void *unused;

	alarm(2);
	MUST(ibv_req_notify_cq(cq, 0));
	cause_completion(context, qp);
	MUST(ibv_get_cq_event(channel, &got, &unused));
	if (is_good(argc, argv))
		ibv_ack_cq_events(got, 1);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
