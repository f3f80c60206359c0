/*
 * STATE-002: a write is posted before the queue pair is connected.
 */
#include "tests/apps/app.h"

static char buffer[4096];

static int write_once(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)buffer, 64, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)buffer + 2048, mr->rkey } },
			   *bad;

	return ibv_post_send(qp, &wr, &bad);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_wc wc;

	if (!is_good(argc, argv))
		write_once(qp, mr);
	connect_to_itself(context, qp);
	MUST(write_once(qp, mr));
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	MUST(wc.status);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
