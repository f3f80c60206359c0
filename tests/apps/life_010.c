/*
 * LIFE-010: a queue pair is made with the completion queue of another context.
 */
#include "tests/apps/app.h"

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device(), *other = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_cq *others = NEED(ibv_create_cq(other, 8, NULL, NULL, 0));
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = is_good(argc, argv) ? cq : others,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	if (qp)
		MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(others));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(other));
	MUST(ibv_close_device(context));
	return 0;
}
