/*
 * MKEY-003: a message is received into memory that was registered without local write.
 */
#include "tests/apps/app.h"

enum { LENGTH = 256 };

static char buffer[4096];

static void post_receive(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, LENGTH, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
}

static void post_send(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, LENGTH, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
}

static void poll_both(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int left = 2; left;)
		left -= ibv_poll_cq(cq, 1, &wc);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_mr *from = NEED(ibv_reg_mr(pd, buffer, LENGTH, 0));
	struct ibv_mr *to = NEED(ibv_reg_mr(pd, buffer + 2048, 2048,
					    is_good(argc, argv) ? IBV_ACCESS_LOCAL_WRITE : 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	connect_to_itself(context, qp);
	post_receive(qp, to);
	post_send(qp, from);
	poll_both(cq);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(from));
	MUST(ibv_dereg_mr(to));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
