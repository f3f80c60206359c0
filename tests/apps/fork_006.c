/*
 * FORK-006: system() while a receive is outstanding, without fork support. The device plays a
 * kernel that does not copy registered pages.
 */
#include <unistd.h>

#include "tests/apps/app.h"

static char buffer[4096];

static void post_receive(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)buffer, sizeof(buffer), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
}

static void drain_queue(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;
	int n;

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (n == 0);
	NEED(n == 1);
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	qp = create_rc_qp(pd, cq);
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	connect_to_itself(context, qp);
	post_receive(qp, mr);
	if (is_good(argc, argv))
		drain_queue(qp, cq);
	NEED(system("exit 0") == 0);
	if (!is_good(argc, argv))
		drain_queue(qp, cq);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
