#pragma once
/* A server with a table of clients, one of which leaves. */
#include "common.h"

#define CLIENTS 4

struct client {
	struct ibv_qp *qp;
	bool active;
};

static void post_receive(struct client *client, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	ibv_post_recv(client->qp, &wr, &bad);
}

static int serve_clients(bool forgets)
{
	struct client table[CLIENTS];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct dev dev;
	void *memory;

	alarm(10);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	need(pd && cq);
	memory = page_alloc(4096);
	mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	need(mr);
	for (int i = 0; i < CLIENTS; i++) {
		table[i] = (struct client){ qp_make(pd, IBV_QPT_RC, cq, cq, 4), true };
		rc_init(table[i].qp);
	}
	ibv_destroy_qp(table[1].qp);
	table[1].active = !forgets;
	for (int i = 0; i < CLIENTS; i++)
		if (table[i].active)
			post_receive(&table[i], mr);
	for (int i = 0; i < CLIENTS; i++)
		if (i != 1)
			ibv_destroy_qp(table[i].qp);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
