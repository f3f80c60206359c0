/*
 * LIFE-007: a queue pair is destroyed at its first completion, with the batch still open.
 */
#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq_init_attr_ex init = { .cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = NEED(ibv_create_cq_ex(context, &init));
	struct ibv_qp *qp = create_rc_qp(pd, ibv_cq_ex_to_cq(cq));
	struct ibv_qp *other = create_rc_qp(pd, ibv_cq_ex_to_cq(cq));
	struct ibv_poll_cq_attr attr = { 0 };
	bool good = is_good(argc, argv);
	struct ibv_qp *both[] = { qp, other };

	for (int i = 0; i < 2; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE,
					  .send_flags = IBV_SEND_SIGNALED },
				   *bad;

		connect_to_itself(context, both[i]);
		MUST(ibv_post_send(both[i], &wr, &bad));
	}
	while (ibv_start_poll(cq, &attr))
		;
	if (!good)
		MUST(ibv_destroy_qp(qp));
	MUST(ibv_next_poll(cq));
	ibv_end_poll(cq);
	if (good)
		MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_qp(other));
	MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
