/*
 * MKEY-005: a memory region is deregistered while a write from it is outstanding.
 */
#include "tests/apps/app.h"

enum { LENGTH = 256 };

static char buffer[4096];

static void post_write(struct ibv_qp *qp, const struct ibv_mr *from, const struct ibv_mr *to)
{
	struct ibv_sge sge = { (uintptr_t)from->addr, LENGTH, from->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)to->addr, to->rkey },
	}, *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
}

static void await_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_mr *from = NEED(ibv_reg_mr(pd, buffer, LENGTH, 0));
	struct ibv_mr *to = NEED(ibv_reg_mr(pd, buffer + 2048, 2048,
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	connect_to_itself(context, qp);
	post_write(qp, from, to);
	if (is_good(argc, argv))
		await_completion(cq);
	MUST(ibv_dereg_mr(from));
	if (!is_good(argc, argv))
		await_completion(cq);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(to));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
