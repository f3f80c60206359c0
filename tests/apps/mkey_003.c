/*
 * MKEY-003: a message is received into memory that was registered without local write.
 */
#include "tests/apps/self.h"

static void receive_into(const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, SELF_BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(self.qp, &wr, &bad));
}

int main(int argc, char **argv)
{
	struct ibv_mr *to;

	self_open(8);
	to = NEED(ibv_reg_mr(self.pd, self.buffer + 2048, 2048,
			     is_good(argc, argv) ? IBV_ACCESS_LOCAL_WRITE : 0));
	receive_into(to);
	self_send(2);
	self_poll(2);
	MUST(ibv_dereg_mr(to));
	self_close();
	return 0;
}
