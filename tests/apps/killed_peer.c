/*
 * A process that is killed while its peer sends to it: killed_peer [polls]
 *
 * The child makes a queue pair, posts receives and does nothing more, as a program that computes.
 * The parent sends through two queue pairs until both have failed, and meanwhile kills the child.
 * With an argument the child polls the first messages, and kills itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "tests/apps/app.h"

enum { PAIRS = 2, RECEIVES = 4000, BYTES = 64, BEFORE = 100 };

struct place {
	uint32_t number[PAIRS];
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qps[PAIRS];
static char memory[BYTES];
static _Atomic int sent;
static pid_t child;

static void make_ends(struct place *mine)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 8, RECEIVES, 1, 1, 0 } };

	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, PAIRS * RECEIVES + 16, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	attr.send_cq = attr.recv_cq = cq;
	for (int i = 0; i < PAIRS; i++) {
		qps[i] = NEED(ibv_create_qp(pd, &attr));
		mine->number[i] = qps[i]->qp_num;
		to_init(qps[i]);
	}
}

static void connect_ends(const struct place *to)
{
	connected_with.timeout = 10;
	connected_with.retry_cnt = 1;
	for (int i = 0; i < PAIRS; i++) {
		MUST(to_rtr(qps[i], to->number[i], own_address(context, 0)));
		to_rts(qps[i]);
	}
}

static void post_receives(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	for (int i = 0; i < PAIRS * RECEIVES; i++)
		MUST(ibv_post_recv(qps[i % PAIRS], &wr, &bad));
}

static void exchange_places(int to, int from, struct place *mine, struct place *theirs)
{
	MUST(write(to, mine, sizeof(*mine)) != sizeof(*mine));
	MUST(read(from, theirs, sizeof(*theirs)) != sizeof(*theirs));
}

static void poll_and_die(void)
{
	struct ibv_wc wc;

	for (int left = BEFORE; left;)
		left -= ibv_poll_cq(cq, 1, &wc);
	raise(SIGKILL);
}

static void be_child(int to, int from, bool polls)
{
	struct place mine, theirs;
	char ready = 0;

	make_ends(&mine);
	exchange_places(to, from, &mine, &theirs);
	connect_ends(&theirs);
	post_receives();
	MUST(write(to, &ready, 1) != 1);
	if (polls)
		poll_and_die();
	for (;;)
		pause();
}

static void *kill_child(void *unused)
{
	while (sent < BEFORE)
		;
	kill(child, SIGKILL);
	return unused;
}

static void send_until_failure(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;
	bool failed[PAIRS] = { false };

	for (int i = 0, left = PAIRS; left; i++) {
		if (failed[i % PAIRS])
			continue;
		wr.wr_id = (uint64_t)i;
		MUST(ibv_post_send(qps[i % PAIRS], &wr, &bad));
		while (!ibv_poll_cq(cq, 1, &wc))
			;
		failed[i % PAIRS] = wc.status;
		left -= wc.status != 0;
		sent = i;
	}
}

int main(int argc, char **argv)
{
	struct place mine, theirs;
	int up[2], down[2];
	pthread_t killer;
	char ready;

	MUST(pipe(up) || pipe(down));
	child = fork();
	if (!child)
		be_child(up[1], down[0], argc > 1);
	make_ends(&mine);
	exchange_places(down[1], up[0], &mine, &theirs);
	connect_ends(&theirs);
	MUST(read(up[0], &ready, 1) != 1);
	if (argc > 1) {
		send_until_failure();
	} else {
		MUST(pthread_create(&killer, NULL, kill_child, NULL));
		send_until_failure();
		pthread_join(killer, NULL);
	}
	(void)argv;
	waitpid(child, NULL, 0);
	printf("%d\n", sent);
	return 0;
}
