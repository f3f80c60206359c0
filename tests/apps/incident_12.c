/*
 * The queue is polled, then armed, and not polled again before the program waits: a completion that
 * came in between stays in it (brpc#3415). An alarm ends the program.
 */
#include <unistd.h>

#include "tests/apps/ends.h"

static void wait_event(void)
{
	struct ibv_cq *got;
	void *unused;

	MUST(ibv_get_cq_event(wish.channel, &got, &unused));
	ibv_ack_cq_events(got, 1);
}

/* Poll, arm, and poll once more if @good. */
static void serve_one(bool good)
{
	struct ibv_wc wc;

	NEED(!ibv_poll_cq(ends.cq[1], 1, &wc));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED)); /* the message arrives at this point */
	ends_await(0, 1);
	MUST(ibv_req_notify_cq(ends.cq[1], 0));
	if (!good || !ibv_poll_cq(ends.cq[1], 1, &wc))
		wait_event();
}

int main(int argc, char **argv)
{
	if (!is_good(argc, argv))
		alarm(2);
	ends_open_with_events();
	MUST(ends_receive(1));
	serve_one(is_good(argc, argv));
	ends_close();
	return 0;
}
