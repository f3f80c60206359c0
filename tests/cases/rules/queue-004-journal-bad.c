/* expect: QUEUE-004 */
/*
 * A journal that is mirrored into a peer's memory: each record is an RDMA
 * write, and a second thread follows the mirror.
 *
 * The mistake: no record asks for a completion, until the queue is full of
 * requests whose places never come back.
 */
#include "common.h"

struct record {
	uint64_t seq;
	char text[48];
	volatile uint64_t commit; /* last byte written, so last byte seen */
};

struct journal {
	struct dev dev;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp, *peer;
	struct ibv_mr *mr, *mirror_mr;
	struct record *rec, *mirror;
	unsigned depth; /* of the send queue, as granted */
};

static void *follow(void *arg)
{
	struct journal *j = arg;
	double end = now_ms() + 3000;

	for (unsigned i = 0; i < j->depth; i++) {
		while (j->mirror[i].commit != i + 1 && now_ms() < end)
			usleep(100);
		need(j->mirror[i].commit == i + 1 && j->mirror[i].seq == i);
	}
	return NULL;
}

static void append(struct journal *j, unsigned i)
{
	struct record *r = &j->rec[i];
	struct ibv_sge sge = { (uintptr_t)r, sizeof(*r), j->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)&j->mirror[i], j->mirror_mr->rkey },
	};

	r->seq = i;
	snprintf(r->text, sizeof(r->text), "record %u", i);
	r->commit = i + 1;
	need(!ibv_post_send(j->qp, &wr, &bad));
}

static void journal_open(struct journal *j)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 0,
		.cap = { .max_send_wr = 16,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	size_t size;

	dev_open(&j->dev);
	j->pd = ibv_alloc_pd(j->dev.ctx);
	j->cq = ibv_create_cq(j->dev.ctx, 512, NULL, NULL, 0);
	need(j->pd && j->cq);
	init.send_cq = init.recv_cq = j->cq;
	j->qp = ibv_create_qp(j->pd, &init);
	need(j->qp);
	j->depth = init.cap.max_send_wr;
	j->peer = qp_make(j->pd, IBV_QPT_RC, j->cq, j->cq, 1);
	size = j->depth * sizeof(struct record);
	j->rec = page_alloc(size);
	j->mirror = page_alloc(size);
	j->mr = ibv_reg_mr(j->pd, j->rec, size, 0);
	j->mirror_mr = ibv_reg_mr(j->pd, j->mirror, size,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(j->mr && j->mirror_mr);
	rc_connect(&j->dev, j->qp, j->peer);
}

static void journal_close(struct journal *j)
{
	need(!ibv_destroy_qp(j->qp));
	need(!ibv_destroy_qp(j->peer));
	need(!ibv_dereg_mr(j->mr));
	need(!ibv_dereg_mr(j->mirror_mr));
	need(!ibv_destroy_cq(j->cq));
	need(!ibv_dealloc_pd(j->pd));
	free(j->rec);
	free(j->mirror);
	dev_close(&j->dev);
}

int main(void)
{
	struct journal j;
	pthread_t t;

	alarm(10);
	journal_open(&j);
	need(!pthread_create(&t, NULL, follow, &j));
	for (unsigned i = 0; i < j.depth; i++)
		append(&j, i);
	need(!pthread_join(t, NULL));
	printf("%u records mirrored\n", j.depth);
	sleep_ms(20);
	journal_close(&j);
	return 0;
}
