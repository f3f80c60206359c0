/*
 * COMPL-003: a completion event is received and never acknowledged, or twice with the argument
 * `over`, and the destroy of its CQ waits for the difference until an alarm ends the program.
 */
#include <unistd.h>

#include "tests/apps/app.h"

/* A queue pair that is connected to itself sends an empty message. */
static void cause_completion(struct ibv_context *context, struct ibv_qp *qp)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;

	connect_to_itself(context, qp);
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
	bool over = argc > 1 && !strcmp(argv[1], "over");
	struct ibv_wc wc[2];
	void *unused;

	alarm(2);
	MUST(ibv_req_notify_cq(cq, 0));
	cause_completion(context, qp);
	MUST(ibv_get_cq_event(channel, &got, &unused));
	if (over || is_good(argc, argv))
		ibv_ack_cq_events(got, over ? 2 : 1);
	for (int left = 2; left;)
		left -= ibv_poll_cq(cq, left, wc);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
