/*
 * The peer is sent the lkey of the region instead of its rkey, which are the same on most devices
 * (rdma-example#4).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	ends_open();
	sge = ends_sge(0, 64);
	wr.wr.rdma.remote_addr = (uintptr_t)ends.memory[1];
	wr.wr.rdma.rkey = is_good(argc, argv) ? ends.mr[1]->rkey : ends.mr[1]->lkey;
	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
	ends_await(0, 1);
	ends_close();
	return 0;
}
