/*
 * Four messages at a time to a queue pair whose SRQ has one receive, which is posted again after
 * each: three of them wait for min_rnr_timer. `good` has eight.
 */
#include "tests/apps/app.h"

enum { ROUNDS = 8, BURST = 4, BYTES = 64 };

static char memory[2][BYTES];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cqs[2]; /* of sends, of receives */
static struct ibv_srq *srq;
static struct ibv_mr *mr;

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)memory[1], BYTES, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_srq_recv(srq, &wr, &bad));
}

static void send_message(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)memory[0], BYTES, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	MUST(ibv_post_send(qp, &wr, &bad));
}

static struct ibv_qp *make_qp(struct ibv_srq *queue)
{
	struct ibv_qp_init_attr attr = { .send_cq = cqs[0],
					 .recv_cq = cqs[1],
					 .srq = queue,
					 .cap = { 8, 0, 1, 0, 0 },
					 .qp_type = IBV_QPT_RC };

	return NEED(ibv_create_qp(pd, &attr));
}

/* Until as many were sent and received as there are messages. */
static void exchange_messages(struct ibv_qp *qp)
{
	struct ibv_wc wc;

	for (int i = 0; i < BURST; i++)
		send_message(qp);
	for (int sent = 0, received = 0; sent < BURST || received < BURST;) {
		sent += ibv_poll_cq(cqs[0], 1, &wc);
		if (!ibv_poll_cq(cqs[1], 1, &wc))
			continue;
		post_receive();
		received++;
	}
}

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr room = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp *from, *to;

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	for (int i = 0; i < 2; i++)
		cqs[i] = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	srq = NEED(ibv_create_srq(pd, &room));
	from = make_qp(NULL);
	to = make_qp(srq);
	for (int i = is_good(argc, argv) ? 8 : 1; i; i--)
		post_receive();
	connected_with.min_rnr_timer = 18; /* 5.12 ms */
	connect_to(context, from, to->qp_num);
	connect_to(context, to, from->qp_num);
	for (int i = 0; i < ROUNDS; i++)
		exchange_messages(from);
	MUST(ibv_destroy_qp(from));
	MUST(ibv_destroy_qp(to));
	MUST(ibv_destroy_srq(srq));
	for (int i = 0; i < 2; i++)
		MUST(ibv_destroy_cq(cqs[i]));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
