/*
 * "error 12, opcode 0": the opcode of a completion in error is not valid, and the program prints
 * it (nccl#902). The request fails by the device's file of faults.
 */
#include "tests/apps/ends.h"

int main(void)
{
	struct ibv_wc wc = { 0 };

	ends_open();
	MUST(ends_receive(1));
	MUST(ends_send(42, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED));
	while (!ibv_poll_cq(ends.cq[0], 1, &wc))
		;
	if (wc.status)
		fprintf(stderr, "error %d, opcode %d\n", wc.status, wc.opcode);
	ends_drain(1, 1);
	ends_close();
	return 0;
}
