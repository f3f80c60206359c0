/*
 * MKEY-007: after many receives, each in its own buffer, one is posted to a buffer of another that
 * is still outstanding.
 */
#include "tests/apps/self.h"

enum { MESSAGES = 400 };

static void receive_into(uint64_t wr_id, uint64_t buffer)
{
	struct ibv_sge sge = self_sge(buffer);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(self.qp, &wr, &bad));
}

static void send_message(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = self_write(32, &sge, IBV_SEND_SIGNALED), *bad;

	wr.opcode = IBV_WR_SEND;
	MUST(ibv_post_send(self.qp, &wr, &bad));
	self_poll(2);
}

int main(int argc, char **argv)
{
	self_open(16);
	for (int i = 0; i < MESSAGES; i++) {
		receive_into(i, i % 4);
		send_message();
	}
	receive_into(MESSAGES, 0);
	receive_into(MESSAGES + 1, is_good(argc, argv) ? 1 : 0);
	send_message();
	send_message();
	self_close();
	return 0;
}
