/*
 * Events of one completion queue are acknowledged on another: the destroy of the first never
 * returns (ucx#1039).
 */
#include <unistd.h>

#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_cq *got;
	void *unused;

	if (!is_good(argc, argv))
		alarm(2);
	ends_open_with_events();
	MUST(ibv_req_notify_cq(ends.cq[1], 0));
	MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	MUST(ibv_get_cq_event(wish.channel, &got, &unused));
	ends_await(1, 1);
	ibv_ack_cq_events(is_good(argc, argv) ? got : ends.cq[0], 1);
	MUST(ibv_destroy_qp(ends.qp[1]));
	MUST(ibv_destroy_cq(ends.cq[1]));
	ends.qp[1] = NULL;
	ends.cq[1] = NULL;
	ends_close();
	return 0;
}
