/*
 * A message that waits for its receive request for a while, although rnr_retry is 0: the software
 * device waits for receivers that may only lack a processor. In a slower replay the wait is longer.
 */
#include <time.h>

#include "tests/apps/ends.h"

int main(void)
{
	const struct timespec late = { .tv_nsec = 50000000 };

	connected_with.rnr_retry = 0;
	ends_open();
	MUST(ends_receive(1)); /* it posts receive requests */
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	ends_await(1, 1);
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	nanosleep(&late, NULL);
	MUST(ends_receive(1));
	ends_await(0, 1);
	ends_await(1, 1);
	ends_close();
	return 0;
}
