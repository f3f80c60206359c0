/*
 * MKEY-008: a write names a memory window that has not been bound.
 */
#include "tests/apps/app.h"

enum { LENGTH = 256 };

static char buffer[4096];

static void await_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
}

static void bind_window(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr,
			       .addr = (uintptr_t)mr->addr,
			       .length = LENGTH,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE },
	};

	MUST(ibv_bind_mw(qp, mw, &bind));
	await_completion(qp->send_cq);
}

static void write_to_itself(struct ibv_qp *qp, const struct ibv_mr *mr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)buffer + 2048, LENGTH, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)mr->addr, rkey },
	}, *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
	await_completion(qp->send_cq);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	struct ibv_mw *mw = NEED(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	connect_to_itself(context, qp);
	if (is_good(argc, argv))
		bind_window(qp, mw, mr);
	write_to_itself(qp, mr, mw->rkey);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dealloc_mw(mw));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
