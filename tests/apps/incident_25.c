/*
 * Only each sixteenth request is signaled, and the queue holds eight (brpc#3132).
 */
#include <errno.h>

#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	uint64_t every = is_good(argc, argv) ? 4 : 16;

	ends_open();
	for (uint64_t i = 1; i <= 32; i++) {
		bool signaled = i % every == 0;
		int err = ends_send(i, IBV_WR_RDMA_WRITE, signaled ? IBV_SEND_SIGNALED : 0);

		if (err) {
			fprintf(stderr, "ibv_post_send: %s\n", strerror(err));
			break;
		}
		if (signaled)
			ends_await(0, 1);
	}
	ends_close();
	return 0;
}
