/*
 * MKEY-009: what a READ fetches is sent on before the READ has completed, without a fence.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	struct ibv_qp_attr readable = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_sge from[2];
	struct ibv_send_wr read, send, *bad;
	struct ibv_recv_wr receive, *bad_receive;
	struct ibv_sge to;

	self_open(16);
	MUST(ibv_dereg_mr(self.mr));
	self.mr = NEED(ibv_reg_mr(self.pd, self.buffer, sizeof(self.buffer),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
	MUST(ibv_modify_qp(self.qp, &readable, IBV_QP_ACCESS_FLAGS));
	to = self_sge(3);
	receive = (struct ibv_recv_wr){ .wr_id = 3, .sg_list = &to, .num_sge = 1 };
	MUST(ibv_post_recv(self.qp, &receive, &bad_receive));
	read = self_write(1, &from[0], IBV_SEND_SIGNALED);
	read.opcode = IBV_WR_RDMA_READ;
	send = self_write(1, &from[1],
			  IBV_SEND_SIGNALED | (is_good(argc, argv) ? IBV_SEND_FENCE : 0));
	send.opcode = IBV_WR_SEND;
	MUST(ibv_post_send(self.qp, &read, &bad));
	MUST(ibv_post_send(self.qp, &send, &bad));
	self_poll(3);
	self_close();
	return 0;
}
