/*
 * The queue is polled, then armed, and not polled again before the program sleeps: a completion
 * that came in between lies there (brpc#3415).
 */
#include <poll.h>

#include "tests/apps/ends.h"

enum { PATIENCE_MS = 300 };

static bool sleep_until_event(void)
{
	struct pollfd fd = { .fd = wish.channel->fd, .events = POLLIN };

	return poll(&fd, 1, PATIENCE_MS) > 0;
}

/* Poll, arm, and poll once more if we are good. */
static int serve_one(bool good)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(ends.cq[1], 1, &wc);

	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED)); /* it comes now */
	ends_await(0, 1);
	MUST(ibv_req_notify_cq(ends.cq[1], 0));
	if (good)
		n += ibv_poll_cq(ends.cq[1], 1, &wc);
	if (!n && sleep_until_event())
		n = 1;
	return n;
}

int main(int argc, char **argv)
{
	int n;

	ends.context = open_first_device();
	ends.pd = NEED(ibv_alloc_pd(ends.context));
	wish.channel = NEED(ibv_create_comp_channel(ends.context));
	ends_open();
	MUST(ends_receive(1));
	n = serve_one(is_good(argc, argv));
	fprintf(stderr, n ? "served\n" : "timed out\n");
	if (!n)
		ends_await(1, 1);
	ends_close();
	return 0;
}
