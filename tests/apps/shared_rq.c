/*
 * Four threads send to queue pairs that share a receive queue and a completion queue, which two
 * other threads poll and refill.
 *
 * Each message names its sender in its immediate data, and no two messages of a sender have the
 * same length, so that a replay that mixes them up is noticed. `same` gives all receives one wr_id.
 */
#include "tests/apps/app.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>

enum { PAIRS = 4, POLLERS = 2, MESSAGES = 100, DEPTH = 32, BYTES = 256 };

static struct ibv_context *context;
static struct ibv_cq *in;
static struct ibv_srq *srq;
static struct ibv_mr *mr;
static char memory[DEPTH + PAIRS][BYTES];
static atomic_int received;
static bool same;

static struct pair {
	struct ibv_cq *cq;
	struct ibv_qp *from, *to;
	char *bytes;
} pairs[PAIRS];

static void post_receive(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)memory[slot], BYTES, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = same ? 7 : slot, .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_srq_recv(srq, &wr, &bad));
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_srq *queue)
{
	struct ibv_qp_init_attr attr = { .send_cq = cq,
					 .recv_cq = cq,
					 .srq = queue,
					 .cap = { 8, 0, 1, 0, 0 },
					 .qp_type = IBV_QPT_RC };

	return NEED(ibv_create_qp(pd, &attr));
}

static void *send_all(void *arg)
{
	struct pair *p = arg;
	struct ibv_wc wc;

	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = { (uintptr_t)p->bytes, (uint32_t)i + 1, mr->lkey };
		struct ibv_send_wr *bad, wr = { .wr_id = (uint64_t)i,
						.sg_list = &sge,
						.num_sge = 1,
						.opcode = IBV_WR_SEND_WITH_IMM,
						.send_flags = IBV_SEND_SIGNALED,
						.imm_data = htonl((uint32_t)(p - pairs)) };

		memset(p->bytes, i, BYTES);
		MUST(ibv_post_send(p->from, &wr, &bad));
		while (ibv_poll_cq(p->cq, 1, &wc) == 0)
			;
		MUST(wc.status);
	}
	return NULL;
}

static void *receive_all(void *arg)
{
	struct ibv_wc wc[4];

	while (atomic_load(&received) < PAIRS * MESSAGES) {
		int n = ibv_poll_cq(in, 4, wc);

		for (int i = 0; i < n; i++) {
			MUST(wc[i].status);
			post_receive(same ? 0 : wc[i].wr_id);
		}
		atomic_fetch_add(&received, n);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	pthread_t threads[PAIRS + POLLERS];
	struct ibv_pd *pd;

	same = argc > 1 && !strcmp(argv[1], "same");
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	in = NEED(ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0));
	srq = NEED(ibv_create_srq(pd, &init));
	mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	for (uint64_t i = 0; i < DEPTH; i++)
		post_receive(same ? 0 : i);
	for (int i = 0; i < PAIRS; i++) {
		struct pair *p = &pairs[i];

		p->cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
		p->from = create_qp(pd, p->cq, NULL);
		p->to = create_qp(pd, in, srq);
		p->bytes = memory[DEPTH + i];
		connect_to(context, p->from, p->to->qp_num);
		connect_to(context, p->to, p->from->qp_num);
	}
	for (int i = 0; i < POLLERS; i++)
		MUST(pthread_create(&threads[PAIRS + i], NULL, receive_all, NULL));
	for (int i = 0; i < PAIRS; i++)
		MUST(pthread_create(&threads[i], NULL, send_all, &pairs[i]));
	for (int i = 0; i < PAIRS + POLLERS; i++)
		MUST(pthread_join(threads[i], NULL));
	return 0;
}
