/* expect: what it waited for */
/*
 * Peers send a burst each to a server that has one shared receive queue.
 *
 * The mistake: it has receives for one of the bursts. Nobody polls the
 * senders' CQ, so that nobody sees that their sends have failed.
 */
#include "common.h"

enum { PEERS = 3, BURST = 4, SIZE = 64 };

#ifdef GOOD
enum { RECEIVES = PEERS * BURST };
#else
enum { RECEIVES = BURST };
#endif

int main(void)
{
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_qp *senders[PEERS], *qps[PEERS];
	struct ibv_wc wc[PEERS * BURST];
	struct ibv_cq *sends, *receives;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct dev dev;
	char *memory;
	int n;

	alarm(10);
	dev_open(&dev);
	need(pd = ibv_alloc_pd(dev.ctx));
	need(sends = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	need(receives = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	need(srq = ibv_create_srq(pd, &of_srq));
	memory = page_alloc(8192);
	need(mr = ibv_reg_mr(pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE));
	for (int i = 0; i < PEERS; i++) {
		struct ibv_qp_init_attr attr = { .send_cq = receives,
						 .recv_cq = receives,
						 .srq = srq,
						 .qp_type = IBV_QPT_RC,
						 .cap = { .max_send_wr = 1, .max_send_sge = 1 } };

		senders[i] = qp_make(pd, IBV_QPT_RC, sends, sends, BURST);
		need(qps[i] = ibv_create_qp(pd, &attr));
		rc_connect(&dev, senders[i], qps[i]);
	}
	for (uint64_t i = 0; i < RECEIVES; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + i * SIZE, SIZE, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		need(!ibv_post_srq_recv(srq, &wr, &bad));
	}
	for (int i = 0; i < PEERS * BURST; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + 4096 + i * SIZE, SIZE, mr->lkey };
		struct ibv_send_wr wr = { .wr_id = i,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED };
		struct ibv_send_wr *bad;

		need(!ibv_post_send(senders[i / BURST], &wr, &bad));
	}
	n = wait_wc(receives, wc, PEERS * BURST, 400);
	if (n != PEERS * BURST) {
		fprintf(stderr, "%d of %d messages came\n", n, PEERS * BURST);
		return 2;
	}
	need(wait_wc(sends, wc, PEERS * BURST, 2000) == PEERS * BURST);

	for (int i = 0; i < PEERS; i++) {
		ibv_destroy_qp(senders[i]);
		ibv_destroy_qp(qps[i]);
	}
	ibv_destroy_srq(srq);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(sends);
	ibv_destroy_cq(receives);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
