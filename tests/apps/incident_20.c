/*
 * A receive names more memory than its region has; as long as messages are short most devices do
 * not mind (perftest#308).
 */
#include "tests/apps/ends.h"

int main(int argc, char **argv)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1 }, *bad;

	ends_open();
	sge = ends_sge(1, is_good(argc, argv) ? ENDS_BYTES : ENDS_BYTES + 40);
	MUST(ibv_post_recv(ends.qp[1], &wr, &bad));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	ends_await(1, 1);
	ends_close();
	return 0;
}
