/*
 * Failures, each with a local variable that a debugger can read at its place.
 *
 * 	stop_spot KIND [TIMES]
 *
 * KIND is verb (ibv_modify_qp fails), post, poll (a completion is in error, the others flushed),
 * create (a creation fails, with errno) or probe (there is no event yet, which is not a
 * failure). A separate thread does it, and prints its argument.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "tests/apps/app.h"

enum { MAGIC = 4711, WRITES = 3, LENGTH = 64 };

static char buffer[4096];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;

static __attribute__((noinline)) void fail_verb(struct ibv_qp *qp)
{
	volatile int magic = MAGIC;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int ret;

	errno = EDOM;
	ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	printf("verb: %d, errno %d, magic %d\n", ret, errno, magic);
}

static __attribute__((noinline)) void fail_post(struct ibv_qp *qp)
{
	volatile int magic = MAGIC;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad = NULL;
	int ret;

	errno = EDOM;
	ret = ibv_post_send(qp, &wr, &bad);
	printf("post: %d, errno %d, bad %d, magic %d\n", ret, errno, bad == &wr, magic);
}

static __attribute__((noinline)) void poll_error(void)
{
	volatile int magic = MAGIC;
	struct ibv_wc wc;

	errno = EDOM;
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	printf("poll: wr_id %d, status %d, errno %d, magic %d\n", (int)wc.wr_id, wc.status, errno,
	       magic);
}

static void fail_polls(struct ibv_qp *qp)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));

	connect_to_itself(context, qp);
	for (int i = 0; i < WRITES; i++) {
		struct ibv_sge sge = { (uintptr_t)buffer, LENGTH, mr->lkey };
		struct ibv_send_wr wr = {
			.wr_id = (uint64_t)i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)buffer + 2048, mr->rkey ^ 0x5a5a5a },
		}, *bad;

		MUST(ibv_post_send(qp, &wr, &bad));
	}
	for (int i = 0; i < WRITES; i++)
		poll_error();
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_dereg_mr(mr));
}

static __attribute__((noinline)) void fail_creation(void)
{
	volatile int magic = MAGIC;
	struct ibv_cq *none = ibv_create_cq(context, -1, NULL, NULL, 0);

	printf("create: %d, errno %d, magic %d\n", none != NULL, errno, magic);
}

static __attribute__((noinline)) void ask_for_event(void)
{
	volatile int magic = MAGIC;
	struct ibv_cq *got;
	void *arg;
	int ret = ibv_get_cq_event(channel, &got, &arg);

	printf("probe: %d, errno %d, magic %d\n", ret, errno, magic);
}

static void fail_once(const char *kind)
{
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	if (!strcmp(kind, "poll")) {
		fail_polls(qp);
		return;
	}
	if (!strcmp(kind, "verb"))
		fail_verb(qp);
	else if (!strcmp(kind, "post"))
		fail_post(qp);
	else if (!strcmp(kind, "create"))
		fail_creation();
	else
		ask_for_event();
	MUST(ibv_destroy_qp(qp));
}

static char **words;
static int times = 1;

static void *run_kind(void *arg)
{
	for (int i = 0; i < times; i++)
		fail_once(words[1]);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	words = argv;
	times = argc > 2 ? atoi(argv[2]) : 1;
	setlinebuf(stdout);
	context = open_first_device();
	channel = NEED(ibv_create_comp_channel(context));
	MUST(fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	cq = NEED(ibv_create_cq(context, 64, NULL, channel, 0));
	pd = NEED(ibv_alloc_pd(context));
	MUST(pthread_create(&thread, NULL, run_kind, NULL));
	MUST(pthread_join(thread, NULL));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_destroy_comp_channel(channel));
	MUST(ibv_close_device(context));
	return 0;
}
