/*
 * Eight messages, or writes, one after the other, whose receives are posted before: if the device
 * delays some by about 655 ms, the value of min_rnr_timer 0, no RNR timer is the cause.
 */
#include <string.h>

#include "tests/apps/ends.h"

enum { REQUESTS = 8 };

int main(int argc, char **argv)
{
	bool writes = argc > 1 && !strcmp(argv[1], "write");

	connected_with.min_rnr_timer = 0;
	ends_open();
	for (int i = 0; i < REQUESTS; i++)
		MUST(ends_receive((uint64_t)i));
	for (int i = 0; i < REQUESTS; i++) {
		MUST(ends_send((uint64_t)i, writes ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
			       IBV_SEND_SIGNALED));
		MUST(ends_await(0, 1));
	}
	if (writes)
		ends_drain(1, REQUESTS);
	else
		MUST(ends_await(1, REQUESTS));
	ends_close();
	return 0;
}
