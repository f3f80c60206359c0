/*
 * MKEY-006: the buffer of a posted receive is unmapped.
 */
#include <sys/mman.h>

#include "tests/apps/app.h"

enum { BYTES = 4096 };

static void post_receive(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(qp, &wr, &bad));
}

static void take_back(struct ibv_qp *qp, struct ibv_cq *cq)
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
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	void *memory =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	NEED(memory != MAP_FAILED);
	mr = NEED(ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE));
	connect_to_itself(context, qp);
	post_receive(qp, mr);
	if (is_good(argc, argv))
		take_back(qp, cq);
	MUST(munmap(memory, BYTES));
	if (!is_good(argc, argv))
		take_back(qp, cq);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
