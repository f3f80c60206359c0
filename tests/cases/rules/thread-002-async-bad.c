/* expect: THREAD-002 */
/*
 * A program with the usual thread for asynchronous events, which sleeps in
 * ibv_get_async_event() for as long as nothing goes wrong.
 *
 * The mistake: the device is closed before that thread is ended.
 */
#include "common.h"

static pthread_barrier_t up;

static void *async_thread(void *arg)
{
	struct ibv_context *ctx = arg;
	struct ibv_async_event ev;

	pthread_barrier_wait(&up);
	while (!ibv_get_async_event(ctx, &ev)) {
		fprintf(stderr, "async event: %s\n", ibv_event_type_str(ev.event_type));
		ibv_ack_async_event(&ev);
	}
	return NULL;
}

/* swaps two halves of a buffer by RDMA reads into a third */
static void swap_halves(struct dev *d)
{
	enum { HALF = 8192 };
	struct ibv_pd *pd = ibv_alloc_pd(d->ctx);
	struct ibv_cq *cq = ibv_create_cq(d->ctx, 128, NULL, NULL, 0);
	uint8_t *mem = page_alloc(4 * HALF);
	struct ibv_mr *mr;
	struct ibv_qp *qp[2];
	struct ibv_wc wc[2];

	need(pd && cq);
	mr = ibv_reg_mr(pd, mem, 4 * HALF, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	need(mr);
	for (int i = 0; i < 2; i++)
		qp[i] = qp_make(pd, IBV_QPT_RC, cq, cq, 4);
	rc_connect(d, qp[0], qp[1]);
	for (int i = 0; i < 2 * HALF; i++)
		mem[i] = i / 37;

	for (uint64_t i = 0; i < 2; i++) {
		struct ibv_sge sge = { (uintptr_t)mem + (2 + i) * HALF, HALF, mr->lkey };
		struct ibv_send_wr *bad, wr = {
			.wr_id = i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)mem + (1 - i) * HALF, mr->rkey },
		};

		need(!ibv_post_send(qp[0], &wr, &bad));
	}
	need(wait_wc(cq, wc, 2, 2000) == 2);
	need(wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS);
	need(!memcmp(mem, mem + 3 * HALF, HALF) && !memcmp(mem + HALF, mem + 2 * HALF, HALF));
	puts("swapped");

	for (int i = 0; i < 2; i++)
		need(!ibv_destroy_qp(qp[i]));
	need(!ibv_dereg_mr(mr));
	need(!ibv_destroy_cq(cq));
	need(!ibv_dealloc_pd(pd));
	free(mem);
}

int main(void)
{
	struct dev dev;
	pthread_t t;

	alarm(10);
	survive_crash();
	dev_open(&dev);
	pthread_barrier_init(&up, NULL, 2);
	need(!pthread_create(&t, NULL, async_thread, dev.ctx));
	pthread_barrier_wait(&up);
	swap_halves(&dev);
	fflush(stdout);
	sleep_ms(200); /* by now it sleeps in the call */

	dev_close(&dev);
	pthread_cancel(t);
	need(!pthread_join(t, NULL));
	return 0;
}
