/* expect: MKEY-009 */
/*
 * Blocks are written on one queue pair, and announced on another, so that the
 * announcements do not queue behind them.
 *
 * The mistake: nothing waits for the write before it is announced.
 */
#include "common.h"

enum { ROUNDS = 3, BLOCK = 4096 };

static void post_send(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_mr *mr, char *from,
		      uint32_t length, char *to)
{
	struct ibv_sge sge = { (uintptr_t)from, length, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED
	};
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)to;
	wr.wr.rdma.rkey = mr->rkey;
	need(!ibv_post_send(qp, &wr, &bad));
}

static void await(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	need(wait_wc(cq, &wc, 1, 2000) == 1 && wc.status == IBV_WC_SUCCESS);
}

int main(void)
{
	struct ibv_qp *write, *written, *tell, *told;
	struct ibv_cq *writes, *tells, *peer;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct dev dev;
	char *memory;

	alarm(10);
	dev_open(&dev);
	need(pd = ibv_alloc_pd(dev.ctx));
	need(writes = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0));
	need(tells = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0));
	need(peer = ibv_create_cq(dev.ctx, 32, NULL, NULL, 0));
	memory = page_alloc(4 * BLOCK);
	need(mr = ibv_reg_mr(pd, memory, 4 * BLOCK,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	write = qp_make(pd, IBV_QPT_RC, writes, writes, 4);
	written = qp_make(pd, IBV_QPT_RC, peer, peer, 4);
	tell = qp_make(pd, IBV_QPT_RC, tells, tells, 4);
	told = qp_make(pd, IBV_QPT_RC, peer, peer, 4);
	rc_connect(&dev, write, written);
	rc_connect(&dev, tell, told);

	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + 3 * BLOCK, 64, mr->lkey };
		struct ibv_recv_wr receive = { .sg_list = &sge, .num_sge = 1 }, *bad;

		need(!ibv_post_recv(told, &receive, &bad));
		memset(memory, i, BLOCK);
		post_send(write, IBV_WR_RDMA_WRITE, mr, memory, BLOCK, memory + BLOCK);
#ifdef GOOD
		await(writes);
#endif
		post_send(tell, IBV_WR_SEND, mr, memory + 2 * BLOCK, 64, NULL);
		await(peer);
		await(tells);
#ifndef GOOD
		await(writes);
#endif
	}

	ibv_destroy_qp(write);
	ibv_destroy_qp(written);
	ibv_destroy_qp(tell);
	ibv_destroy_qp(told);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(writes);
	ibv_destroy_cq(tells);
	ibv_destroy_cq(peer);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
