/*
 * LIFE-008: an address handle is destroyed before the datagram that names it was polled.
 */
#include "tests/apps/self.h"

enum { QKEY = 0x1234 };

int main(int argc, char **argv)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_ah_attr address;
	struct ibv_sge sge;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	self_open(16);
	qp = create_ud_qp(self.pd, self.cq, QKEY);
	address = own_address(self.context, 0);
	ah = NEED(ibv_create_ah(self.pd, &address));
	wr = self_write(0, &sge, IBV_SEND_SIGNALED);
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(qp, &wr, &bad));
	if (is_good(argc, argv))
		self_poll(1);
	MUST(ibv_destroy_ah(ah));
	if (!is_good(argc, argv))
		self_poll(1);
	MUST(ibv_destroy_qp(qp));
	self_close();
	return 0;
}
