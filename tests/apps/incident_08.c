/*
 * A queue pair with a shared receive queue is destroyed out of RTS: what it has taken from the
 * queue is neither complete nor in the queue (ceph#25447).
 */
#include "tests/apps/ends.h"

static void open_shared(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };

	ends.context = open_first_device();
	ends.pd = NEED(ibv_alloc_pd(ends.context));
	wish.srq = NEED(ibv_create_srq(ends.pd, &attr));
	ends_open();
}

int main(int argc, char **argv)
{
	open_shared();
	for (uint64_t i = 0; i < 4; i++)
		MUST(ends_send(i, IBV_WR_SEND, IBV_SEND_SIGNALED));
	if (is_good(argc, argv)) {
		for (uint64_t i = 0; i < 4; i++)
			MUST(ends_receive(i));
		ends_await(0, 4);
		ends_await(1, 4);
	}
	MUST(ibv_destroy_qp(ends.qp[0]));
	ends.qp[0] = NULL;
	ends_close();
	return 0;
}
