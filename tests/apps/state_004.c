/*
 * STATE-004: the opcode of segmented datagrams is posted to a reliable queue pair.
 */
#include "tests/apps/self.h"

static void post_wrong_opcode(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = self_write(1, &sge, IBV_SEND_SIGNALED), *bad;

	wr.opcode = IBV_WR_TSO;
	ibv_post_send(self.qp, &wr, &bad);
}

int main(int argc, char **argv)
{
	self_open(16);
	if (!is_good(argc, argv))
		post_wrong_opcode();
	MUST(self_post(1, IBV_SEND_SIGNALED));
	MUST(self_poll(1));
	self_close();
	return 0;
}
