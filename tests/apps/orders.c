/*
 * orders KIND [good]: a program that relies on an order that nobody promised
 *
 *	queues     of two queue pairs the first that was posted to completes first
 *	threads    the other thread has made its region 100 ms later
 *
 * It ends with 0 in the usual order, whatever that is worth. tests/e2e/torture.sh has it meet
 * others.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { BYTES = 64, ENTRIES = 4 };

static char buffer[2 * BYTES];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static bool good;
static atomic_bool begun;

static void post_message(struct ibv_qp *qp)
{
	struct ibv_sge from = { (uintptr_t)buffer, BYTES, mr->lkey };
	struct ibv_sge to = { (uintptr_t)buffer + BYTES, BYTES, mr->lkey };
	struct ibv_recv_wr receive = { .sg_list = &to, .num_sge = 1 }, *bad_receive;
	struct ibv_send_wr send = { .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	assert(!ibv_post_recv(qp, &receive, &bad_receive));
	assert(!ibv_post_send(qp, &send, &bad));
}

/* Poll both completions of a message. */
static void take_message(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int n = 0; n < 2;)
		n += ibv_poll_cq(cq, 1, &wc);
}

static void use_two_queues(void)
{
	struct ibv_cq *cqs[2];
	struct ibv_qp *qps[2];
	struct ibv_wc wc;

	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 2; i++) {
		cqs[i] = ibv_create_cq(context, ENTRIES, NULL, NULL, 0);
		qps[i] = create_rc_qp(pd, cqs[i]);
		connect_to_itself(context, qps[i]);
	}
	for (int i = 0; i < 2; i++)
		post_message(qps[i]);
	take_message(cqs[1]);
	if (good) {
		take_message(cqs[0]);
	} else {
		assert(ibv_poll_cq(cqs[0], 1, &wc) == 1);
		assert(ibv_poll_cq(cqs[0], 1, &wc) == 1);
	}
	for (int i = 0; i < 2; i++) {
		ibv_destroy_qp(qps[i]);
		ibv_destroy_cq(cqs[i]);
	}
}

static void *make_region(void *arg)
{
	(void)arg;
	begun = true;
	mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	return NULL;
}

static void use_two_threads(void)
{
	struct ibv_cq *cq = ibv_create_cq(context, ENTRIES, NULL, NULL, 0);
	pthread_t thread;
	struct ibv_qp *qp;

	pthread_create(&thread, NULL, make_region, NULL);
	while (!begun)
		sched_yield();
	if (!good)
		usleep(100000); /* "long enough" */
	qp = create_rc_qp(pd, cq);
	connect_to_itself(context, qp);
	if (good)
		pthread_join(thread, NULL);
	post_message(qp);
	take_message(cq);
	if (!good)
		pthread_join(thread, NULL);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

int main(int argc, char **argv)
{
	good = argc > 2 && !strcmp(argv[2], "good");
	context = open_first_device();
	pd = ibv_alloc_pd(context);
	if (argc > 1 && !strcmp(argv[1], "threads"))
		use_two_threads();
	else
		use_two_queues();
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	return ibv_close_device(context);
}
