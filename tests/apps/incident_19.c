/*
 * A send begins inside its region and ends outside: "I am pretty sure I am not exceeding the
 * bounds" (async-rdma#43).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 3,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	ends_open();
	MUST(ends_receive(1));
	sge = ends_sge(0, 64);
	sge.addr += ENDS_BYTES - (is_good(argc, argv) ? 64 : 63);
	MUST(ibv_post_send(ends.qp[0], &wr, &bad));
	if (ends_await(0, 1) == IBV_WC_SUCCESS)
		ends_await(1, 1);
	ends_close();
	return 0;
}
