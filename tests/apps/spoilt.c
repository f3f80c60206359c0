/*
 * A receive is flushed; all fields of its completion are printed, valid or not.
 */
#include "tests/apps/app.h"

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	struct ibv_wc wc;

	connect_to_itself(context, qp);
	MUST(ibv_post_recv(qp, &wr, &bad));
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	printf("wr_id %u status %d qp_num %d byte_len 0x%x\n", (unsigned int)wc.wr_id, wc.status,
	       wc.qp_num == qp->qp_num, wc.byte_len);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
