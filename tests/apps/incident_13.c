/*
 * After a wake-up one full batch is polled, and the program waits although more are in the queue
 * (perftest#137). An alarm ends it.
 */
#include <unistd.h>

#include "tests/apps/ends.h"

enum { MESSAGES = 8, BATCH = 4 };

static void wait_event(void)
{
	struct ibv_cq *got;
	void *unused;

	MUST(ibv_get_cq_event(wish.channel, &got, &unused));
	ibv_ack_cq_events(got, 1);
	MUST(ibv_req_notify_cq(got, 0));
}

static int poll_batches(bool good)
{
	struct ibv_wc wc[BATCH];
	int n = 0, got;

	do {
		got = ibv_poll_cq(ends.cq[1], BATCH, wc);
		n += got;
	} while (good && got);
	return n;
}

int main(int argc, char **argv)
{
	int left = MESSAGES;

	if (!is_good(argc, argv))
		alarm(2);
	ends_open_with_events();
	MUST(ibv_req_notify_cq(ends.cq[1], 0));
	for (uint64_t i = 0; i < MESSAGES; i++)
		MUST(ends_receive(i));
	for (uint64_t i = 0; i < MESSAGES; i++)
		MUST(ends_send(i, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, MESSAGES);
	while (left) {
		wait_event();
		left -= poll_batches(is_good(argc, argv));
	}
	ends_close();
	return 0;
}
