/*
 * STATE-001: a queue pair goes to INIT without the attribute of its access flags.
 */
#include "tests/apps/app.h"

static void leave_reset(struct ibv_qp *qp, bool good)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (!good)
		ibv_modify_qp(qp, &attr, mask);
	MUST(ibv_modify_qp(qp, &attr, mask | IBV_QP_ACCESS_FLAGS));
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	leave_reset(qp, is_good(argc, argv));
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
