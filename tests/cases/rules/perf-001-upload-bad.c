/* expect: PERF-001 */
/*
 * An uploader: messages of an application's own buffers go to a storage thread
 * that answers each with its checksum.
 *
 * The mistake: each message is registered before and deregistered after it.
 */
#include "common.h"

#define MESSAGES 400
#define SIZE     65536
#define POOL     4

struct store {
	struct dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *up_cq, *down_cq;
	struct ibv_qp *up, *down; /* the uploader's, and the storage's */
	struct ibv_mr *mr;        /* of the storage */
	uint8_t *mem;             /* of the storage: SIZE to receive, then an answer */
	struct ibv_mr *answer_mr;
	uint64_t *answer; /* of the uploader */
	uint8_t *pool;
};

static uint64_t checksum(const uint8_t *p, size_t n)
{
	uint64_t s = 0;

	for (size_t i = 0; i < n; i += 64)
		s = s * 31 + p[i];
	return s;
}

static void receive(struct ibv_qp *qp, void *to, uint32_t size, struct ibv_mr *mr, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)to, size, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	need(!ibv_post_recv(qp, &wr, &bad));
}

static void transmit(struct ibv_qp *qp, void *from, uint32_t size, struct ibv_mr *mr, uint64_t id)
{
	struct ibv_sge sge = { (uintptr_t)from, size, mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = id,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	need(!ibv_post_send(qp, &wr, &bad));
}

static void completions(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc[2];

	need(wait_wc(cq, wc, n, 3000) == n);
	while (n--)
		need(wc[n].status == IBV_WC_SUCCESS);
}

static void *storage(void *arg)
{
	struct store *s = arg;
	uint64_t *reply = (uint64_t *)(s->mem + SIZE);

	for (uint64_t i = 0; i < MESSAGES; i++) {
		completions(s->down_cq, 1);
		*reply = checksum(s->mem, SIZE);
		if (i + 1 < MESSAGES)
			receive(s->down, s->mem, SIZE, s->mr, 2 * i + 2);
		transmit(s->down, reply, sizeof(*reply), s->mr, 2 * i + 1);
		completions(s->down_cq, 1);
	}
	return NULL;
}

static void upload(struct store *s, uint8_t *message, uint64_t i)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, message, SIZE, 0);

	need(mr);
	receive(s->up, s->answer, sizeof(*s->answer), s->answer_mr, 2 * i);
	transmit(s->up, message, SIZE, mr, 2 * i + 1);
	completions(s->up_cq, 2);
	need(!ibv_dereg_mr(mr));
	need(*s->answer == checksum(message, SIZE));
}

int main(void)
{
	struct store s;
	pthread_t t;

	alarm(10);
	dev_open(&s.dev);
	s.pd = ibv_alloc_pd(s.dev.ctx);
	s.up_cq = ibv_create_cq(s.dev.ctx, 128, NULL, NULL, 0);
	s.down_cq = ibv_create_cq(s.dev.ctx, 128, NULL, NULL, 0);
	need(s.pd && s.up_cq && s.down_cq);
	s.mem = page_alloc(SIZE + 4096);
	s.answer = page_alloc(4096);
	s.pool = page_alloc(POOL * SIZE);
	s.mr = ibv_reg_mr(s.pd, s.mem, SIZE + 4096, IBV_ACCESS_LOCAL_WRITE);
	s.answer_mr = ibv_reg_mr(s.pd, s.answer, 4096, IBV_ACCESS_LOCAL_WRITE);
	need(s.mr && s.answer_mr);
	s.up = qp_make(s.pd, IBV_QPT_RC, s.up_cq, s.up_cq, 4);
	s.down = qp_make(s.pd, IBV_QPT_RC, s.down_cq, s.down_cq, 4);
	rc_connect(&s.dev, s.up, s.down);
	receive(s.down, s.mem, SIZE, s.mr, 0);
	need(!pthread_create(&t, NULL, storage, &s));

	for (uint64_t i = 0; i < MESSAGES; i++) {
		uint8_t *message = s.pool + i % POOL * SIZE;

		memset(message, i, SIZE);
		message[i] ^= 0xff;
		upload(&s, message, i);
	}
	need(!pthread_join(t, NULL));
	printf("%d messages of %d bytes\n", MESSAGES, SIZE);

	ibv_destroy_qp(s.up);
	ibv_destroy_qp(s.down);
	ibv_dereg_mr(s.mr);
	ibv_dereg_mr(s.answer_mr);
	ibv_destroy_cq(s.up_cq);
	ibv_destroy_cq(s.down_cq);
	ibv_dealloc_pd(s.pd);
	dev_close(&s.dev);
	free(s.mem);
	free(s.answer);
	free(s.pool);
	return 0;
}
