/*
 * ibv_wr_rdma_write() of a queue pair that was made for ibv_wr_send() alone: the function is
 * missing, and the program ends by SIGSEGV.
 */
#include "tests/apps/app.h"

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_qp_init_attr_ex init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp *qp = NEED(ibv_create_qp_ex(context, &init));
	struct ibv_qp_ex *ex = NEED(ibv_qp_to_qp_ex(qp));

	connect_to_itself(context, qp);
	ibv_wr_start(ex);
	ex->wr_id = 7;
	ibv_wr_send(ex);
	ibv_wr_set_sge_list(ex, 0, NULL);
	ibv_wr_rdma_write(ex, 0, 0);
	return 0;
}
