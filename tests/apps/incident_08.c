/*
 * The last request on a queue pair in ERR is a beacon: when it has come, all others have. The
 * queue pair, with a shared receive queue, is destroyed without waiting for it (ceph#25447).
 */
#include "tests/apps/ends.h"

enum { BEACON = 99 };

static void open_shared(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 8, .max_sge = 1 } };

	ends.context = open_first_device();
	ends.pd = NEED(ibv_alloc_pd(ends.context));
	wish.srq = NEED(ibv_create_srq(ends.pd, &attr));
	ends_open();
}

static void close_connection(bool good)
{
	to_err(ends.qp[0]);
	MUST(ends_send(BEACON, IBV_WR_SEND, IBV_SEND_SIGNALED));
	if (good)
		ends_await(0, 2);
	MUST(ibv_destroy_qp(ends.qp[0]));
	ends.qp[0] = NULL;
}

int main(int argc, char **argv)
{
	open_shared();
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED)); /* nobody receives it */
	close_connection(is_good(argc, argv));
	ends_close();
	return 0;
}
