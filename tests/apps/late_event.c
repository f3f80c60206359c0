/*
 * CQs that are armed after their completions were polled: a second thread arms the queue, the first
 * one posts, polls, and receives the event.
 *
 * `backlog`: the second thread posts, the first one arms, polls, and receives four events at once.
 */
#include <pthread.h>

#include "tests/apps/self.h"

enum { ROUNDS = 20, BACKLOG = 4 };

static pthread_barrier_t turn;

static void *arm_queue(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		MUST(ibv_req_notify_cq(self.cq, 0));
		pthread_barrier_wait(&turn);
	}
	return arg;
}

static void *post_all(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		MUST(self_post((uint64_t)i, IBV_SEND_SIGNALED));
		pthread_barrier_wait(&turn);
	}
	return arg;
}

static void take_events(struct ibv_comp_channel *channel, int n)
{
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < n; i++) {
		MUST(ibv_get_cq_event(channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
}

int main(int argc, char **argv)
{
	bool backlog = argc > 1 && !strcmp(argv[1], "backlog");
	struct ibv_comp_channel *channel;
	pthread_t other;

	self.context = open_first_device();
	self.pd = NEED(ibv_alloc_pd(self.context));
	channel = NEED(ibv_create_comp_channel(self.context));
	self.cq = NEED(ibv_create_cq(self.context, 16, NULL, channel, 0));
	self.mr = NEED(ibv_reg_mr(self.pd, self.buffer, sizeof(self.buffer),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	self.qp = self_create(SELF_ROOM, 0);
	connect_to_itself(self.context, self.qp);
	pthread_barrier_init(&turn, NULL, 2);
	MUST(pthread_create(&other, NULL, backlog ? post_all : arm_queue, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		if (backlog)
			MUST(ibv_req_notify_cq(self.cq, 0));
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		if (!backlog)
			MUST(self_post((uint64_t)i, IBV_SEND_SIGNALED));
		self_poll(1);
		if (!backlog)
			take_events(channel, 1);
		else if (i % BACKLOG == BACKLOG - 1)
			take_events(channel, BACKLOG);
	}
	MUST(pthread_join(other, NULL));
	MUST(ibv_destroy_qp(self.qp));
	MUST(ibv_dereg_mr(self.mr));
	MUST(ibv_destroy_cq(self.cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_dealloc_pd(self.pd));
	MUST(ibv_close_device(self.context));
	return 0;
}
