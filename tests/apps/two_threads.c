/*
 * Two threads, each with an end of a connection: one sends N messages, every fourth signaled, the
 * other one receives them.
 *
 * 	two_threads N
 */
#include "tests/apps/app.h"

#include <pthread.h>

enum { DEPTH = 8, BYTES = 64, EACH = 4 };

static struct ibv_cq *in;
static struct ibv_qp *receiver;
static struct ibv_mr *mr;
static char memory[2 * BYTES];
static long count;

static void wait_for_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	MUST(n != 1 || wc.status);
}

static void post_receive(uint64_t number)
{
	struct ibv_sge to = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = number, .sg_list = &to, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(receiver, &wr, &bad));
}

static void *receive_all(void *unused)
{
	for (long i = 0; i < count; i++) {
		wait_for_one(in);
		post_receive((uint64_t)i + DEPTH);
	}
	return unused;
}

static void send_one(struct ibv_qp *qp, long number)
{
	struct ibv_sge from = { (uintptr_t)memory + BYTES, 1 + number % BYTES, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)number,
				  .sg_list = &from,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = number % EACH == EACH - 1 ? IBV_SEND_SIGNALED : 0 };
	struct ibv_send_wr *bad;

	MUST(ibv_post_send(qp, &wr, &bad));
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *out = NEED(ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0));
	struct ibv_qp *sender;
	pthread_t thread;

	count = argc > 1 ? atol(argv[1]) / EACH * EACH : EACH;
	in = NEED(ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	sender = create_rc_qp(pd, out);
	receiver = create_rc_qp(pd, in);
	connect_to(context, receiver, sender->qp_num);
	connect_to(context, sender, receiver->qp_num);
	for (uint64_t i = 0; i < DEPTH; i++)
		post_receive(i);
	MUST(pthread_create(&thread, NULL, receive_all, NULL));
	for (long i = 0; i < count; i++) {
		send_one(sender, i);
		if (i % EACH == EACH - 1)
			wait_for_one(out);
	}
	MUST(pthread_join(thread, NULL));
	return 0;
}
