/*
 * PERF-006: threads wait for the events of CQs that are all on vector 0.
 */
#include "tests/apps/app.h"

#include <pthread.h>

enum { THREADS = 4, MESSAGES = 20 };

static struct ibv_context *context;
static struct ibv_pd *pd;

static struct end {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
} ends[THREADS];

static void make_end(struct end *end, int vector)
{
	end->channel = NEED(ibv_create_comp_channel(context));
	end->cq = NEED(ibv_create_cq(context, 16, NULL, end->channel, vector));
	end->qp = create_rc_qp(pd, end->cq);
	connect_to_itself(context, end->qp);
}

static void send_one(struct end *end)
{
	struct ibv_recv_wr receive = { .wr_id = 1 }, *bad_receive;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	MUST(ibv_post_recv(end->qp, &receive, &bad_receive));
	wr.send_flags = IBV_SEND_SIGNALED;
	MUST(ibv_post_send(end->qp, &wr, &bad));
}

static void *serve_end(void *arg)
{
	struct end *end = arg;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *user;

	for (int i = 0; i < MESSAGES; i++) {
		MUST(ibv_req_notify_cq(end->cq, 0));
		send_one(end);
		MUST(ibv_get_cq_event(end->channel, &cq, &user));
		ibv_ack_cq_events(cq, 1);
		for (int n = 0; n < 2;)
			n += ibv_poll_cq(cq, 1, &wc);
	}
	return NULL;
}

static void remove_end(struct end *end)
{
	MUST(ibv_destroy_qp(end->qp));
	MUST(ibv_destroy_cq(end->cq));
	MUST(ibv_destroy_comp_channel(end->channel));
}

int main(int argc, char **argv)
{
	bool good = is_good(argc, argv);
	pthread_t threads[THREADS];

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	for (int i = 0; i < THREADS; i++)
		make_end(&ends[i], good ? i % context->num_comp_vectors : 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, serve_end, &ends[i]));
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL));
	for (int i = 0; i < THREADS; i++)
		remove_end(&ends[i]);
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
