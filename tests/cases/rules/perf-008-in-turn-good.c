/*
 * A log that is written to four replicas.
 */
#include "common.h"

enum { REPLICAS = 4, WRITES = 400, LENGTH = 512 };

int main(void)
{
	struct ibv_qp *log[REPLICAS], *replica[REPLICAS];
	struct ibv_send_wr *bad;
	struct ibv_wc wc[64];
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct dev dev;
	char *memory;
	int out = 0;

	alarm(20);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 1024, NULL, NULL, 0);
	need(pd && cq);
	memory = page_alloc(2 * WRITES * LENGTH);
	mr = ibv_reg_mr(pd, memory, 2 * WRITES * LENGTH,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr);
	for (int i = 0; i < REPLICAS; i++) {
		log[i] = qp_make(pd, IBV_QPT_RC, cq, cq, 64);
		replica[i] = qp_make(pd, IBV_QPT_RC, cq, cq, 64);
		rc_connect(&dev, log[i], replica[i]);
	}
	for (int i = 0; i < WRITES; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + i * LENGTH, LENGTH, mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)memory + (WRITES + i) * LENGTH, mr->rkey },
		};

		need(!ibv_post_send(log[i % REPLICAS], &wr, &bad));
		if (++out == 64)
			out -= wait_wc(cq, wc, 64, 5000);
	}
	while (out)
		out -= wait_wc(cq, wc, out < 64 ? out : 64, 5000);
	for (int i = 0; i < REPLICAS; i++) {
		ibv_destroy_qp(log[i]);
		ibv_destroy_qp(replica[i]);
	}
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
