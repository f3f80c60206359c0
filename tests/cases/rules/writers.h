#pragma once
/* Two threads that write through one queue pair, each until its own write is done. */
#include <stdatomic.h>
#include "common.h"

#define PATIENCE_MS 700

struct writer {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	pthread_barrier_t *both;
	uint64_t number;
};

static atomic_bool done[2], first_has_polled;

typedef bool (*is_done_fn)(struct writer *w, const struct ibv_wc *wc);
static is_done_fn is_own;

static void post_write(struct writer *w)
{
	uint64_t addr = (uintptr_t)w->mr->addr;
	struct ibv_sge sge = { addr + 64 * w->number, 64, w->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = w->number,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = addr + 4096 + 64 * w->number;
	wr.wr.rdma.rkey = w->mr->rkey;
	need(!ibv_post_send(w->qp, &wr, &bad));
}

static void await_first(void)
{
	while (!first_has_polled)
		sleep_ms(1);
}

/* Writer 0 polls first and finds the completion of writer 1: it posts later. */
static void *write_once(void *arg)
{
	struct writer *w = arg;
	struct ibv_wc wc;
	double end;

	if (!w->number)
		pthread_barrier_wait(w->both);
	post_write(w);
	if (w->number) {
		pthread_barrier_wait(w->both);
		await_first();
	}
	end = now_ms() + PATIENCE_MS;
	while (!done[w->number] && now_ms() < end) {
		if (ibv_poll_cq(w->qp->send_cq, 1, &wc) == 1 && is_own(w, &wc))
			break;
		sleep_ms(1);
	}
	first_has_polled = true;
	return NULL;
}

static int run_writers(is_done_fn own)
{
	pthread_barrier_t both;
	struct writer w[2];
	pthread_t thread[2];
	struct ibv_qp *target;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct dev dev;
	void *memory;

	is_own = own;
	alarm(10);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	need(pd && cq);
	memory = page_alloc(8192);
	w[0].mr = ibv_reg_mr(pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(w[0].mr);
	w[0].qp = qp_make(pd, IBV_QPT_RC, cq, cq, 8);
	target = qp_make(pd, IBV_QPT_RC, cq, cq, 8);
	rc_connect(&dev, w[0].qp, target);
	pthread_barrier_init(&both, NULL, 2);
	w[0].both = &both;
	w[1] = w[0];
	for (int i = 0; i < 2; i++) {
		w[i].number = i;
		need(!pthread_create(&thread[i], NULL, write_once, &w[i]));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	ibv_destroy_qp(target);
	ibv_destroy_qp(w[0].qp);
	ibv_dereg_mr(w[0].mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
