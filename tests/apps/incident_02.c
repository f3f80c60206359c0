/*
 * A helper library destroys both completion queues of a connection, and so does the destructor of
 * its user (monarch#2219).
 */
#include "tests/apps/ends.h"

/* The helper. */
static void close_helper(void)
{
	for (int i = 0; i < 2; i++) {
		MUST(ibv_destroy_qp(ends.qp[i]));
		ends.qp[i] = NULL;
	}
	for (int i = 0; i < 2; i++)
		MUST(ibv_destroy_cq(ends.cq[i]));
}

/* Destroy the CQs too early, while their queue pairs exist. */
static void drop_connection(void)
{
	for (int i = 0; i < 2; i++)
		ibv_destroy_cq(ends.cq[i]);
}

int main(int argc, char **argv)
{
	ends_open();
	MUST(ends_send(1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	close_helper();
	if (!is_good(argc, argv))
		drop_connection();
	ends.cq[0] = ends.cq[1] = NULL;
	ends_close();
	return 0;
}
