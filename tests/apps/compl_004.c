/*
 * COMPL-004: a message comes, then the receiver arms its CQ and waits for an event for it, until an
 * alarm ends the program.
 *
 * The sender polls its completion before, so that the trace shows that the message had arrived.
 */
#include <unistd.h>

#include "tests/apps/app.h"

static void send_one(struct ibv_qp *sender, struct ibv_cq *sends)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	MUST(ibv_post_send(sender, &wr, &bad));
	while (!ibv_poll_cq(sends, 1, &wc))
		;
	MUST(wc.status);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));
	struct ibv_cq *sends = NEED(ibv_create_cq(context, 8, NULL, NULL, 0)), *got;
	struct ibv_cq *receives = NEED(ibv_create_cq(context, 8, NULL, channel, 0));
	struct ibv_qp *sender = create_rc_qp(pd, sends), *receiver = create_rc_qp(pd, receives);
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad;
	struct ibv_wc wc;
	void *unused;

	alarm(2);
	connect_to(context, receiver, sender->qp_num);
	connect_to(context, sender, receiver->qp_num);
	MUST(ibv_post_recv(receiver, &recv, &bad));
	send_one(sender, sends);
	MUST(ibv_req_notify_cq(receives, 0));
	if (!is_good(argc, argv) || !ibv_poll_cq(receives, 1, &wc))
		MUST(ibv_get_cq_event(channel, &got, &unused));
	MUST(ibv_destroy_qp(sender));
	MUST(ibv_destroy_qp(receiver));
	MUST(ibv_destroy_cq(sends));
	MUST(ibv_destroy_cq(receives));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
