/* expect: COMPL-002 */
/*
 * A tunnel that takes a fresh connection every now and then. Packets are
 * received into buffers of one pool.
 */
#include "common.h"

#define TURNS   5
#define DEPTH   8
#define POOL    (TURNS * DEPTH)
#define BUFFER  256
#define PACKETS 20

static struct dev dev;
static struct ibv_pd *pd;
static struct ibv_cq *cq, *peer_cq;
static struct ibv_qp *qp, *peer;
static struct ibv_mr *mr;
static char *mem; /* POOL buffers, then one that the peer sends from */
static int pool[POOL], npool, posted, received;

static void listen(void)
{
	while (posted < DEPTH && npool) {
		uint64_t b = pool[--npool];
		struct ibv_sge sge = { (uintptr_t)mem + b * BUFFER, BUFFER, mr->lkey };
		struct ibv_recv_wr *bad, wr = { .wr_id = b, .sg_list = &sge, .num_sge = 1 };

		need(!ibv_post_recv(qp, &wr, &bad));
		posted++;
	}
}

/* puts buffers back; returns how many packets were in them */
static int collect(int ms)
{
	struct ibv_wc wc;
	int n = 0;

	while (posted && wait_wc(cq, &wc, 1, ms) == 1) {
		pool[npool++] = wc.wr_id;
		posted--;
		if (wc.status == IBV_WC_SUCCESS) {
			need(!strncmp(mem + wc.wr_id * BUFFER, "packet", 6));
			n++;
		}
		ms = 0;
	}
	return n;
}

static void tunnel_open(void)
{
	qp = qp_make(pd, IBV_QPT_RC, cq, cq, DEPTH);
	peer = qp_make(pd, IBV_QPT_RC, peer_cq, peer_cq, DEPTH);
	rc_connect(&dev, qp, peer);
	listen();
}

static void tunnel_close(void)
{
	need(!ibv_destroy_qp(qp));
	need(!ibv_destroy_qp(peer)); /* has nothing outstanding */
	posted = 0;
}

static void packet(uint64_t n)
{
	struct ibv_sge sge = { (uintptr_t)mem + POOL * BUFFER, BUFFER, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = n,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	snprintf(mem + POOL * BUFFER, BUFFER, "packet %d", (int)n);
	need(!ibv_post_send(peer, &wr, &bad));
	need(wait_wc(peer_cq, &wc, 1, 2000) == 1 && wc.status == IBV_WC_SUCCESS);
	received += collect(1000);
	listen();
}

int main(void)
{
	size_t size = (POOL + 1) * BUFFER;

	alarm(10);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	peer_cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0);
	mem = page_alloc(size);
	need(pd && cq && peer_cq);
	mr = ibv_reg_mr(pd, mem, size, IBV_ACCESS_LOCAL_WRITE);
	need(mr);
	while (npool < POOL) {
		pool[npool] = npool;
		npool++;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		tunnel_open();
		for (int i = 0; i < PACKETS; i++)
			packet(i);
		tunnel_close();
		printf("turn %d: %d packets, %d buffers in the pool\n", turn, received, npool);
	}
	need(received == TURNS * PACKETS);
	need(!ibv_destroy_cq(cq) && !ibv_destroy_cq(peer_cq));
	need(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	dev_close(&dev);
	free(mem);
	return 0;
}
