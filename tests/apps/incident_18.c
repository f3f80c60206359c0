/*
 * At the end the initiator deregisters its memory while the target still writes to it (spdk#1387).
 */
#include "tests/apps/ends.h"

static void stop_initiator(void)
{
	MUST(ibv_dereg_mr(ends.mr[1]));
}

int main(int argc, char **argv)
{
	uint32_t rkey;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	ends_open();
	rkey = ends.mr[1]->rkey;
	if (!is_good(argc, argv))
		stop_initiator();
	sge = ends_sge(0, 64);
	wr.wr.rdma.remote_addr = (uintptr_t)ends.memory[1];
	wr.wr.rdma.rkey = rkey;
	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
	ends_await(0, 1);
	if (is_good(argc, argv))
		stop_initiator();
	ends.mr[1] = NULL;
	ends_close();
	return 0;
}
