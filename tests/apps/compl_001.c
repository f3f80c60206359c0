/*
 * COMPL-001: the opcode of a completion is read before its status, which is a flush.
 */
#include "tests/apps/app.h"

static void flush_receive(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq_init_attr_ex init = { .cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = NEED(ibv_create_cq_ex(context, &init));
	struct ibv_qp *qp = create_rc_qp(pd, ibv_cq_ex_to_cq(cq));
	struct ibv_poll_cq_attr attr = { 0 };

	connect_to_itself(context, qp);
	flush_receive(qp);
	while (ibv_start_poll(cq, &attr))
		;
	if (!is_good(argc, argv))
		printf("opcode %d\n", ibv_wc_read_opcode(cq));
	else if (cq->status == IBV_WC_SUCCESS)
		printf("opcode %d\n", ibv_wc_read_opcode(cq));
	printf("queue pair %u, vendor %u\n", ibv_wc_read_qp_num(cq), ibv_wc_read_vendor_err(cq));
	ibv_end_poll(cq);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
