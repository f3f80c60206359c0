/*
 * COMPL-003: the one event of a CQ is acknowledged twice, and the destroy waits for a second one
 * until an alarm ends the program.
 */
#include <unistd.h>

#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, channel, 0)), *got;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_wc wc[2];
	void *unused;

	alarm(2);
	MUST(ibv_req_notify_cq(cq, 0));
	connect_to_itself(context, qp);
	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &send, &bad));
	MUST(ibv_get_cq_event(channel, &got, &unused));
	ibv_ack_cq_events(got, is_good(argc, argv) ? 1 : 2);
	for (int left = 2; left;)
		left -= ibv_poll_cq(cq, left, wc);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
