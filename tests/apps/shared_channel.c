/*
 * Two completion queues, one of them extended, with one channel for their receives. Messages are in
 * flight before their queue is armed, and complete after that: another thread posts their receives.
 */
#include <pthread.h>

#include "tests/apps/app.h"

enum { QUEUES = 2, ROUNDS = 10, BUSY = 50, BYTES = 64 };

static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_comp_channel *channel;
static struct ibv_cq *sent, *told[QUEUES];
static struct ibv_cq_ex *extended;
static struct ibv_qp *qp[QUEUES];
static pthread_barrier_t turn;
static char buffer[BYTES];

/* Each is connected to itself. */
static void make_queues(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16,
					    .channel = channel,
					    .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };

	sent = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	extended = NEED(ibv_create_cq_ex(context, &attr));
	told[0] = NEED(ibv_create_cq(context, 16, NULL, channel, 0));
	told[1] = ibv_cq_ex_to_cq(extended);
	for (int i = 0; i < QUEUES; i++) {
		struct ibv_qp_init_attr init = { .send_cq = sent,
						 .recv_cq = told[i],
						 .cap = { 8, 8, 1, 1, 0 },
						 .qp_type = IBV_QPT_RC };

		qp[i] = NEED(ibv_create_qp(pd, &init));
		connect_to_itself(context, qp[i]);
	}
}

static void *post_receives(void *arg)
{
	struct ibv_sge sge = { (uintptr_t)buffer, BYTES, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		for (int j = 0; j < QUEUES; j++)
			MUST(ibv_post_recv(qp[j], &wr, &bad));
	}
	return arg;
}

static void send_all(void)
{
	struct ibv_sge sge = { (uintptr_t)buffer, BYTES, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	for (int i = 0; i < QUEUES; i++)
		MUST(ibv_post_send(qp[i], &wr, &bad));
}

static void poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	MUST(wc.status);
}

static void poll_extended(void)
{
	struct ibv_poll_cq_attr attr = { 0 };

	while (ibv_start_poll(extended, &attr))
		;
	MUST(extended->status);
	ibv_end_poll(extended);
}

/* The events come in either order; both CQs are polled. */
static void take_events(void)
{
	for (int i = 0; i < QUEUES; i++) {
		struct ibv_cq *cq;
		void *unused;

		MUST(ibv_get_cq_event(channel, &cq, &unused));
		ibv_ack_cq_events(cq, 1);
		if (cq == told[0])
			poll_cq(cq);
		else
			poll_extended();
		poll_cq(sent);
	}
}

int main(void)
{
	struct ibv_context *context = open_first_device();
	pthread_t other;

	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, buffer, BYTES, IBV_ACCESS_LOCAL_WRITE));
	channel = NEED(ibv_create_comp_channel(context));
	make_queues(context);
	pthread_barrier_init(&turn, NULL, 2);
	MUST(pthread_create(&other, NULL, post_receives, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		send_all();
		for (int j = 0; j < BUSY; j++) /* longer than the other thread needs */
			MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
		for (int j = 0; j < QUEUES; j++)
			MUST(ibv_req_notify_cq(told[j], 0));
		pthread_barrier_wait(&turn);
		take_events();
	}
	MUST(pthread_join(other, NULL));
	for (int i = 0; i < QUEUES; i++) {
		MUST(ibv_destroy_qp(qp[i]));
		MUST(ibv_destroy_cq(told[i]));
	}
	MUST(ibv_destroy_cq(sent));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
