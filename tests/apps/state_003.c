/*
 * STATE-003: a queue pair is put into ERR, and receives are posted to it as before. One would do
 * to learn when all others are flushed; that is what the twin posts.
 */
#include "tests/apps/app.h"

static char buffer[4096];

static void post_receives(struct ibv_qp *qp, const struct ibv_mr *mr, int n)
{
	for (int i = 0; i < n; i++) {
		struct ibv_sge sge = { (uintptr_t)buffer + 64 * i, 64, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		MUST(ibv_post_recv(qp, &wr, &bad));
	}
}

static void poll_all(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc;

	while (n)
		n -= ibv_poll_cq(cq, 1, &wc);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int n = is_good(argc, argv) ? 1 : 3;

	connect_to_itself(context, qp);
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	post_receives(qp, mr, n);
	poll_all(cq, n);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
