/*
 * QUEUE-007: a receive on a UD queue pair has room for the GRH alone.
 */
#include "tests/apps/self.h"

enum { QKEY = 0x1234, GRH = 40 };

int main(int argc, char **argv)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	struct ibv_qp *qp;

	self_open(16);
	qp = create_ud_qp(self.pd, self.cq, QKEY);
	sge = self_sge(0);
	sge.length = is_good(argc, argv) ? GRH + 8 : GRH;
	wr.sg_list = &sge;
	MUST(ibv_post_recv(qp, &wr, &bad));
	MUST(ibv_destroy_qp(qp));
	self_close();
	return 0;
}
