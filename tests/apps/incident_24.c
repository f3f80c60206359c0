/*
 * Completions are counted and their status is never checked: after the first error everything is
 * flushed, and the data is missing (mlx#3152). The request fails by the device's file of faults.
 */
#include "tests/apps/ends.h"

int main(void)
{
	ends_open();
	for (uint64_t i = 0; i < 6; i++) {
		MUST(ends_send(i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED));
		ends_await(0, 1);
	}
	ends_close();
	return 0;
}
