/* expect: STATE-003 */
/*
 * A connection is closed: to ERR, then the flushes of what is in its queues are polled.
 *
 * The mistake: the handler posts a receive for each one that completes, as it does while the
 * connection is up, so that there is always one more to flush. GOOD: it posts none after the close,
 * but a mark behind each stripe of its requests, and polls until all marks are flushed.
 */
#include "common.h"

enum { RECEIVES = 8, STRIPES = 2, MARK = 1000, SIZE = 64 };

struct connection {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	bool closing;
	int handled, marks;
};

static void post_receive(struct connection *c, uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)c->mr->addr + slot % RECEIVES * SIZE, SIZE, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	need(!ibv_post_recv(c->qp, &wr, &bad));
}

static void handle(struct connection *c, const struct ibv_wc *wc)
{
	c->handled++;
	if (wc->wr_id >= MARK) {
		c->marks++;
		return;
	}
#ifdef GOOD
	if (c->closing)
		return;
#endif
	post_receive(c, wc->wr_id);
}

static void poll_for(struct connection *c, int ms)
{
	double end = now_ms() + ms;
	struct ibv_wc wc[4];

	while (now_ms() < end && c->marks < STRIPES && c->handled < 3 * RECEIVES) {
		int n = ibv_poll_cq(c->cq, 4, wc);

		need(n >= 0);
		for (int i = 0; i < n; i++)
			handle(c, &wc[i]);
	}
}

static void shut(struct connection *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	c->closing = true;
	need(!ibv_modify_qp(c->qp, &attr, IBV_QP_STATE));
#ifdef GOOD
	for (uint64_t i = 0; i < STRIPES; i++)
		post_receive(c, MARK + i);
#endif
	poll_for(c, 2000);
	ibv_destroy_qp(c->qp);
}

int main(void)
{
	struct connection c = { 0 };
	struct ibv_qp *client;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct dev dev;
	void *memory;

	alarm(10);
	dev_open(&dev);
	need(pd = ibv_alloc_pd(dev.ctx));
	need(cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0));
	need(c.cq = ibv_create_cq(dev.ctx, 64, NULL, NULL, 0));
	memory = page_alloc(4096);
	need(c.mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE));
	client = qp_make(pd, IBV_QPT_RC, cq, cq, RECEIVES);
	c.qp = qp_make(pd, IBV_QPT_RC, c.cq, c.cq, 2 * RECEIVES);
	rc_init(c.qp);
	for (uint64_t i = 0; i < RECEIVES; i++)
		post_receive(&c, i);
	rc_connect(&dev, client, c.qp);
	shut(&c);
	ibv_destroy_qp(client);
	ibv_dereg_mr(c.mr);
	ibv_destroy_cq(cq);
	ibv_destroy_cq(c.cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
