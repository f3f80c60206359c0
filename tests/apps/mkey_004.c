/*
 * MKEY-004: a write names memory of its peer, here the program itself, that was deregistered.
 */
#include "tests/apps/app.h"

enum { LENGTH = 256 };

static char buffer[4096];

static void write_to_itself(struct ibv_qp *qp, const struct ibv_mr *from, const void *to,
			    uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)from->addr, LENGTH, from->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)to, rkey },
	}, *bad;
	struct ibv_wc wc;

	MUST(ibv_post_send(qp, &wr, &bad));
	while (!ibv_poll_cq(qp->send_cq, 1, &wc))
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
	uint32_t rkey;

	connect_to_itself(context, qp);
	rkey = to->rkey;
	if (!is_good(argc, argv))
		MUST(ibv_dereg_mr(to));
	write_to_itself(qp, from, buffer + 2048, rkey);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(from));
	if (is_good(argc, argv))
		MUST(ibv_dereg_mr(to));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
