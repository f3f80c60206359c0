/* expect: THREAD-001 */
/*
 * A queue pair without locks, since its thread domain promises one thread at a
 * time.
 *
 * The mistake: two threads write to it.
 */
#include "common.h"

enum { WRITES = 8, SIZE = 64 };

static struct ibv_qp *writer;
static struct ibv_mr *mr;
static char *memory;

static void *write_some(void *arg)
{
	for (int i = 0; i < WRITES; i++) {
		struct ibv_sge sge = { (uintptr_t)memory + (uintptr_t)arg * SIZE, SIZE, mr->lkey };
		struct ibv_send_wr wr = { .wr_id = i,
					  .sg_list = &sge,
					  .num_sge = 1,
					  .opcode = IBV_WR_RDMA_WRITE,
					  .send_flags = IBV_SEND_SIGNALED };
		struct ibv_send_wr *bad;

		wr.wr.rdma.remote_addr = sge.addr + 2048;
		wr.wr.rdma.rkey = mr->rkey;
		need(!ibv_post_send(writer, &wr, &bad));
	}
	return NULL;
}

int main(void)
{
	struct ibv_parent_domain_init_attr of_parent = { 0 };
	struct ibv_td_init_attr of_td = { 0 };
	struct ibv_wc wc[2 * WRITES];
	struct ibv_pd *pd, *parent;
	struct ibv_qp *peer;
	struct ibv_td *td;
	struct ibv_cq *cq;
	pthread_t threads[2];
	struct dev dev;

	alarm(10);
	dev_open(&dev);
	need(pd = ibv_alloc_pd(dev.ctx));
	need(td = ibv_alloc_td(dev.ctx, &of_td));
	of_parent.pd = pd;
#ifndef GOOD
	of_parent.td = td;
#endif
	need(parent = ibv_alloc_parent_domain(dev.ctx, &of_parent));
	need(cq = ibv_create_cq(dev.ctx, 128, NULL, NULL, 0));
	memory = page_alloc(4096);
	need(mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	writer = qp_make(parent, IBV_QPT_RC, cq, cq, 2 * WRITES);
	peer = qp_make(pd, IBV_QPT_RC, cq, cq, 2 * WRITES);
	rc_connect(&dev, writer, peer);
	for (uintptr_t i = 0; i < 2; i++)
		need(!pthread_create(&threads[i], NULL, write_some, (void *)i));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	need(wait_wc(cq, wc, 2 * WRITES, 2000) == 2 * WRITES);

	ibv_destroy_qp(writer);
	ibv_destroy_qp(peer);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(parent);
	ibv_dealloc_td(td);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
