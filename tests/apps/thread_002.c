/*
 * THREAD-002: a CQ is armed while another thread is destroying it.
 *
 * The destroy waits for an event to be acknowledged, so that it has certainly begun.
 */
#include <pthread.h>
#include <sched.h>

#include "tests/apps/app.h"

/* A queue pair that is connected to itself sends an empty message; both ends are polled. */
static void cause_event(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_wc wc;
	int left = 2;

	MUST(ibv_req_notify_cq(cq, 0));
	connect_to_itself(context, qp);
	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &send, &bad));
	while (left)
		left -= ibv_poll_cq(cq, 1, &wc);
	MUST(ibv_destroy_qp(qp));
}

static void *destroy_cq(void *cq)
{
	MUST(ibv_destroy_cq(cq));
	return NULL;
}

/* glibc counts the waiters of a condition. */
static void wait_for_destroy(struct ibv_cq *cq)
{
	while (!__atomic_load_n(&cq->cond.__data.__wrefs, __ATOMIC_ACQUIRE))
		sched_yield();
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, channel, 0)), *got;
	pthread_t thread;
	void *unused;

	cause_event(context, pd, cq);
	MUST(ibv_get_cq_event(channel, &got, &unused));
	if (is_good(argc, argv))
		MUST(ibv_req_notify_cq(cq, 0));
	MUST(pthread_create(&thread, NULL, destroy_cq, cq));
	wait_for_destroy(cq);
	if (!is_good(argc, argv))
		MUST(ibv_req_notify_cq(cq, 0));
	ibv_ack_cq_events(got, 1);
	MUST(pthread_join(thread, NULL));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
