/*
 * STATE-009: a queue pair waits forever for the response to a packet that was lost.
 */
#include "tests/apps/self.h"

int main(int argc, char **argv)
{
	struct ibv_qp_attr rts = attributes_of(IBV_QPS_RTS);
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	self_make(16, SELF_ROOM, 0);
	to_init(self.qp);
	MUST(to_rtr(self.qp, self.qp->qp_num, own_address(self.context, 0)));
	if (!is_good(argc, argv))
		rts.timeout = 0;
	MUST(ibv_modify_qp(self.qp, &rts,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
	wr = self_write(0, &sge, IBV_SEND_SIGNALED);
	MUST(ibv_post_send(self.qp, &wr, &bad));
	self_poll(1);
	self_close();
	return 0;
}
