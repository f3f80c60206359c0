/*
 * STATE-006: a message is sent before its peer, the queue pair itself, has posted a receive.
 */
#include "tests/apps/app.h"

enum { LENGTH = 64 };

static char buffer[4096];

static void post_receive(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)buffer + 2048, LENGTH, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
}

static void post_send(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)buffer, LENGTH, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 2,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
}

static void await_completions(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc;

	while (n)
		n -= ibv_poll_cq(cq, 1, &wc);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	connect_to_itself(context, qp);
	if (is_good(argc, argv))
		post_receive(qp, mr);
	post_send(qp, mr);
	if (!is_good(argc, argv))
		post_receive(qp, mr);
	await_completions(cq, 2);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
