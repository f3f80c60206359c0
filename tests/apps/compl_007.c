/*
 * COMPL-007: a write fails, its completion is polled, and the next one is posted nonetheless.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;

	self_open(16);
	wr = self_write(0, &sge, IBV_SEND_SIGNALED);
	if (!is_good(argc, argv))
		wr.wr.rdma.remote_addr = 0;
	MUST(ibv_post_send(self.qp, &wr, &bad));
	self_poll(1);
	MUST(self_post(1, IBV_SEND_SIGNALED));
	self_poll(1);
	self_close();
	return 0;
}
