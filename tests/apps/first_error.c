/*
 * The first error: of three writes, or as many as a second argument says, the second has an invalid
 * key, and those posted after it are flushed. Its completion's opcode and length are not valid; the
 * trace knows them from the post.
 */
#include "tests/apps/app.h"

enum { WRITES_MAX = 8, LENGTH = 64 };

static char buffer[4096];

static void post_writes(struct ibv_qp *qp, const struct ibv_mr *mr, int writes, bool good)
{
	for (int i = 0; i < writes; i++) {
		struct ibv_sge sge = { (uintptr_t)buffer, LENGTH, mr->lkey };
		struct ibv_send_wr wr = {
			.wr_id = 100 + i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)buffer + 2048, mr->rkey },
		}, *bad;

		if (i == 1 && !good)
			wr.wr.rdma.rkey ^= 0x5a5a5a;
		MUST(ibv_post_send(qp, &wr, &bad));
	}
}

static void poll_all(struct ibv_cq *cq, int left)
{
	struct ibv_wc wc;

	while (left)
		left -= ibv_poll_cq(cq, 1, &wc);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, WRITES_MAX, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
					    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	int writes = argc > 2 ? atoi(argv[2]) : 3; /* at most WRITES_MAX */

	connect_to_itself(context, qp);
	post_writes(qp, mr, writes, is_good(argc, argv));
	poll_all(cq, writes);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
