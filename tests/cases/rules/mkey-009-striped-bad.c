/* expect: MKEY-009 */
/*
 * A block is written in two halves, each on its own queue pair, and its flag
 * behind the second half.
 *
 * The mistake: nothing orders the flag and the first half.
 */
#include "common.h"

enum { ROUNDS = 8, HALF = 8192, FLAG = 2 * HALF, AREA = 3 * HALF };

struct lane {
	struct ibv_qp *qp, *other;
};

static void write_at(struct lane *lane, struct ibv_mr *mr, unsigned at, uint32_t length)
{
	uint64_t from = (uintptr_t)mr->addr + at;
	struct ibv_sge sge = { from, length, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = at,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = from + AREA;
	wr.wr.rdma.rkey = mr->rkey;
	need(!ibv_post_send(lane->qp, &wr, &bad));
}

static void await(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[3];

	need(wait_wc(cq, wc, n, 5000) == n);
}

static void write_block(struct lane *lanes, struct ibv_mr *mr)
{
	struct ibv_cq *cq = lanes[0].qp->send_cq;

	for (int i = 0; i < 2; i++)
		write_at(&lanes[i], mr, i * HALF, HALF);
#ifdef GOOD
	await(cq, 2);
	write_at(&lanes[1], mr, FLAG, 8);
	await(cq, 1);
#else
	write_at(&lanes[1], mr, FLAG, 8);
	await(cq, 3);
#endif
}

int main(void)
{
	struct lane lanes[2];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct dev dev;
	char *memory;

	alarm(10);
	dev_open(&dev);
	need(pd = ibv_alloc_pd(dev.ctx));
	need(cq = ibv_create_cq(dev.ctx, 32, NULL, NULL, 0));
	memory = page_alloc(2 * AREA);
	need(mr = ibv_reg_mr(pd, memory, 2 * AREA,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	for (int i = 0; i < 2; i++) {
		lanes[i].qp = qp_make(pd, IBV_QPT_RC, cq, cq, 4);
		lanes[i].other = qp_make(pd, IBV_QPT_RC, cq, cq, 4);
		rc_connect(&dev, lanes[i].qp, lanes[i].other);
	}
	for (int i = 0; i < ROUNDS; i++)
		write_block(lanes, mr);
	for (int i = 0; i < 2; i++) {
		ibv_destroy_qp(lanes[i].qp);
		ibv_destroy_qp(lanes[i].other);
	}
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
