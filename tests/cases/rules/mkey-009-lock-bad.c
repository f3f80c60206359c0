/* expect: MKEY-009 */
/*
 * Two workers add to a record of a server, which a lock protects: a word that is 0, or the number
 * of the worker that has it.
 *
 * The mistake: the lock is taken by compare-and-swap and released by a WRITE of 0, which the
 * compare-and-swap of the other worker may undo. GOOD: it is released by compare-and-swap.
 */
#include "common.h"

enum { WORKERS = 2, ROUNDS = 12, LOCK = 0, RECORD = 64 };

struct worker {
	pthread_t thread;
	struct ibv_cq *cq;
	struct ibv_qp *qp, *server;
	struct ibv_mr *mr, *remote;
	uint64_t *memory, number;
};

static void request(struct worker *w, struct ibv_send_wr *wr, unsigned int word)
{
	struct ibv_sge sge = { (uintptr_t)&w->memory[word], 8, w->mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	need(!ibv_post_send(w->qp, wr, &bad));
	need(wait_wc(w->cq, &wc, 1, 5000) == 1 && wc.status == IBV_WC_SUCCESS);
}

static void rdma(struct worker *w, enum ibv_wr_opcode opcode, unsigned int word, uint64_t at)
{
	struct ibv_send_wr wr = { .opcode = opcode,
				  .wr.rdma = { (uintptr_t)w->remote->addr + at, w->remote->rkey } };

	request(w, &wr, word);
}

static uint64_t swap(struct worker *w, uint64_t from, uint64_t to)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				  .wr.atomic = { .remote_addr = (uintptr_t)w->remote->addr + LOCK,
						 .compare_add = from,
						 .swap = to,
						 .rkey = w->remote->rkey } };

	request(w, &wr, 0);
	return w->memory[0];
}

static void release(struct worker *w)
{
#ifdef GOOD
	need(swap(w, w->number, 0) == w->number);
#else
	w->memory[2] = 0;
	rdma(w, IBV_WR_RDMA_WRITE, 2, LOCK);
#endif
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < ROUNDS; i++) {
		while (swap(w, 0, w->number) != 0)
			sleep_ms(1);
		rdma(w, IBV_WR_RDMA_READ, 1, RECORD);
		w->memory[1]++;
		rdma(w, IBV_WR_RDMA_WRITE, 1, RECORD);
		release(w);
		sleep_ms(1);
	}
	return NULL;
}

static void allow_atomics(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC };

	need(!ibv_modify_qp(qp, &attr, IBV_QP_ACCESS_FLAGS));
}

int main(void)
{
	struct worker workers[WORKERS];
	struct ibv_mr *mr, *server_mr;
	uint64_t *memory, *record;
	struct ibv_cq *server_cq;
	struct ibv_pd *pd;
	struct dev dev;

	alarm(20);
	dev_open(&dev);
	need(pd = ibv_alloc_pd(dev.ctx));
	need(server_cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0));
	memory = page_alloc(4096);
	record = page_alloc(4096);
	need(mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE));
	need(server_mr = ibv_reg_mr(pd, record, 4096,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC));
	for (int i = 0; i < WORKERS; i++) {
		struct worker *w = &workers[i];

		*w = (struct worker){
			.number = i + 1, .memory = memory + 16 * i, .mr = mr, .remote = server_mr
		};
		need(w->cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0));
		w->qp = qp_make(pd, IBV_QPT_RC, w->cq, w->cq, 4);
		w->server = qp_make(pd, IBV_QPT_RC, server_cq, server_cq, 4);
		rc_connect(&dev, w->qp, w->server);
		allow_atomics(w->server);
	}
	for (int i = 0; i < WORKERS; i++)
		need(!pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	for (int i = 0; i < WORKERS; i++)
		need(!pthread_join(workers[i].thread, NULL));
	printf("%lu of %d\n", (unsigned long)record[RECORD / 8], WORKERS * ROUNDS);
	for (int i = 0; i < WORKERS; i++) {
		ibv_destroy_qp(workers[i].qp);
		ibv_destroy_qp(workers[i].server);
		ibv_destroy_cq(workers[i].cq);
	}
	ibv_dereg_mr(mr);
	ibv_dereg_mr(server_mr);
	ibv_destroy_cq(server_cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	free(record);
	return 0;
}
