/*
 * A disconnect destroys the completion queue, and the poller polls it once more (spdk#1014).
 */
#include "tests/apps/ends.h"

static void disconnect_peer(void)
{
	MUST(ibv_destroy_qp(ends.qp[1]));
	MUST(ibv_destroy_cq(ends.cq[1]));
	ends.qp[1] = NULL;
}

static void poll_group(struct ibv_cq *cq)
{
	struct ibv_wc wc[4];

	ibv_poll_cq(cq, 4, wc);
}

int main(int argc, char **argv)
{
	struct ibv_cq *polled;

	ends_open();
	polled = ends.cq[1];
	MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	if (is_good(argc, argv))
		poll_group(polled);
	disconnect_peer();
	if (!is_good(argc, argv))
		poll_group(polled);
	ends.cq[1] = NULL;
	ends_close();
	return 0;
}
