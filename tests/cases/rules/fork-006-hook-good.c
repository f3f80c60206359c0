/* expect: clean */
/*
 * A batch copier: it copies files' worth of blocks to a peer and runs the
 * administrator's hook after each batch.
 *
 * The hook runs when the batch has completed.
 */
#include "common.h"

#define BATCHES 4
#define BLOCKS  6
#define BLOCK   2048

struct copier {
	struct dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *src_cq, *dst_cq;
	struct ibv_qp *src, *dst;
	struct ibv_mr *mr;
	unsigned char *mem;
};

static int copier_init(struct copier *c)
{
	size_t size = 2 * BLOCKS * BLOCK;

	memset(c, 0, sizeof(*c));
	if (ibv_fork_init())
		return -1;
	dev_open(&c->dev);
	c->mem = page_alloc(size);
	if (!(c->pd = ibv_alloc_pd(c->dev.ctx)))
		return -1;
	if (!(c->src_cq = ibv_create_cq(c->dev.ctx, 64, NULL, NULL, 0)))
		return -1;
	if (!(c->dst_cq = ibv_create_cq(c->dev.ctx, 64, NULL, NULL, 0)))
		return -1;
	if (!(c->mr = ibv_reg_mr(c->pd, c->mem, size, IBV_ACCESS_LOCAL_WRITE)))
		return -1;
	c->src = qp_make(c->pd, IBV_QPT_RC, c->src_cq, c->src_cq, BLOCKS);
	c->dst = qp_make(c->pd, IBV_QPT_RC, c->dst_cq, c->dst_cq, BLOCKS);
	rc_connect(&c->dev, c->src, c->dst);
	return 0;
}

static void copier_fini(struct copier *c)
{
	ibv_destroy_qp(c->src);
	ibv_destroy_qp(c->dst);
	ibv_dereg_mr(c->mr);
	ibv_destroy_cq(c->src_cq);
	ibv_destroy_cq(c->dst_cq);
	ibv_dealloc_pd(c->pd);
	dev_close(&c->dev);
	free(c->mem);
}

static void batch_start(struct copier *c, int batch)
{
	for (int i = 0; i < BLOCKS; i++) {
		struct ibv_sge to = { (uintptr_t)c->mem + (BLOCKS + i) * BLOCK, BLOCK,
				      c->mr->lkey };
		struct ibv_sge from = { (uintptr_t)c->mem + i * BLOCK, BLOCK, c->mr->lkey };
		struct ibv_recv_wr r = { batch * BLOCKS + i, NULL, &to, 1 }, *rb;
		struct ibv_send_wr s = { .wr_id = batch * BLOCKS + i,
					 .sg_list = &from,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED },
				   *sb;

		memset(c->mem + i * BLOCK, batch * 16 + i, BLOCK);
		need(!ibv_post_recv(c->dst, &r, &rb));
		need(!ibv_post_send(c->src, &s, &sb));
	}
}

static void batch_finish(struct copier *c)
{
	struct ibv_wc wc[BLOCKS];

	need(wait_wc(c->dst_cq, wc, BLOCKS, 2000) == BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		need(wc[i].status == IBV_WC_SUCCESS && wc[i].byte_len == BLOCK);
	need(wait_wc(c->src_cq, wc, BLOCKS, 2000) == BLOCKS);
	for (int i = 0; i < BLOCKS; i++)
		need(wc[i].status == IBV_WC_SUCCESS);
	need(!memcmp(c->mem, c->mem + BLOCKS * BLOCK, BLOCKS * BLOCK));
}

int main(void)
{
	struct copier c;

	alarm(10);
	need(copier_init(&c) == 0);
	for (int batch = 0; batch < BATCHES; batch++) {
		batch_start(&c, batch);
		batch_finish(&c);
		if (system("true"))
			fprintf(stderr, "hook failed\n");
		printf("batch %d\n", batch);
	}
	copier_fini(&c);
	return 0;
}
