/*
 * A queue pair is destroyed before the completions of its flushed requests are polled, and the
 * program waits for these afterwards (rdma-core#1616).
 */
#include "tests/apps/ends.h"

enum { REQUESTS = 4, TRIES = 1000 };

int main(int argc, char **argv)
{
	struct ibv_wc wc;
	int got = 0;

	ends_open();
	for (uint64_t i = 0; i < REQUESTS; i++)
		MUST(ends_receive(i));
	to_err(ends.qp[1]);
	if (is_good(argc, argv))
		ends_await(1, REQUESTS);
	MUST(ibv_destroy_qp(ends.qp[1]));
	ends.qp[1] = NULL;
	for (int i = 0; i < TRIES && !is_good(argc, argv); i++)
		got += ibv_poll_cq(ends.cq[1], 1, &wc);
	ends_close();
	return got == REQUESTS;
}
