/*
 * COMPL-005: ibv_next_poll() although ibv_start_poll() has found nothing; a completion has come
 * since.
 */
#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq_init_attr_ex init = { .cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = NEED(ibv_create_cq_ex(context, &init));
	struct ibv_qp *qp = create_rc_qp(pd, ibv_cq_ex_to_cq(cq));
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_send_wr *bad;

	connect_to_itself(context, qp);
	MUST(!ibv_start_poll(cq, &attr));
	MUST(ibv_post_send(qp, &wr, &bad));
	if (is_good(argc, argv)) {
		while (ibv_start_poll(cq, &attr))
			;
		ibv_end_poll(cq);
	} else {
		while (ibv_next_poll(cq))
			;
	}
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
