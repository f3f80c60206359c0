/*
 * Four queue pairs complete to one queue that was sized for two, and it overruns
 * (TransferBench#239).
 */
#include "tests/apps/app.h"

enum { QPS = 4, WRITES = 8, LENGTH = 64, TRIES = 1000 };

static char buffer[4096];

static void post_writes(struct ibv_qp *qp, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)buffer, LENGTH, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)buffer + 2048, mr->rkey },
	}, *bad;

	for (wr.wr_id = 0; wr.wr_id < WRITES; wr.wr_id++)
		MUST(ibv_post_send(qp, &wr, &bad));
}

static int poll_all(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = 0;

	for (int i = 0; i < TRIES && n < QPS * WRITES; i++)
		n += ibv_poll_cq(cq, 1, &wc) > 0;
	return n;
}

int main(int argc, char **argv)
{
	int cqe = is_good(argc, argv) ? QPS * WRITES : QPS * WRITES / 2;
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, cqe, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	struct ibv_qp *qp[QPS];

	for (int i = 0; i < QPS; i++) {
		qp[i] = create_rc_qp(pd, cq);
		connect_to_itself(context, qp[i]);
	}
	for (int i = 0; i < QPS; i++)
		post_writes(qp[i], mr);
	fprintf(stderr, "%d of %d completions\n", poll_all(cq), QPS * WRITES);
	for (int i = 0; i < QPS; i++)
		MUST(ibv_destroy_qp(qp[i]));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
