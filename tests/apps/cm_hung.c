/*
 * Programs that hang, each for another reason: cm_hung REASON
 *
 * It prints a line when it is about to hang, so that a test need not guess. It mostly sleeps. An
 * alarm ends it after two minutes.
 *
 * "works" does not hang: it sends until SIGUSR1, and prints whether all messages have arrived.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/apps/ends.h"

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* As a program that polls now and then. */
static void poll_on(int i)
{
	struct ibv_wc wc;

	say_ready();
	while (ibv_poll_cq(ends.cq[i], 1, &wc) == 0)
		usleep(20000);
	printf("completion with status %d\n", wc.status);
	exit(3);
}

static void wait_event(void)
{
	struct ibv_cq *got;
	void *unused;

	MUST(ibv_get_cq_event(wish.channel, &got, &unused));
}

/* The receiver has posted nothing, and the sender tries again without end. */
static void hang_rnr(void)
{
	ends_open();
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	poll_on(0);
}

/* The completion comes before the queue is armed, and is not looked for. */
static void hang_wakeup(void)
{
	ends_open_with_events();
	MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 1);
	MUST(ibv_req_notify_cq(ends.cq[1], 0));
	say_ready();
	wait_event();
}

/* A peer that is killed says nothing: a receiver waits. */
static void hang_peer(void)
{
	int up[2], down[2];
	uint32_t mine, theirs;
	pid_t child;

	MUST(pipe(up) || pipe(down));
	child = fork();
	ends_make();
	to_init(ends.qp[0]);
	mine = ends.qp[0]->qp_num;
	MUST(write(child ? down[1] : up[1], &mine, sizeof(mine)) != sizeof(mine));
	MUST(read(child ? up[0] : down[0], &theirs, sizeof(theirs)) != sizeof(theirs));
	MUST(to_rtr(ends.qp[0], theirs, own_address(ends.context, ends_gid(0))));
	to_rts(ends.qp[0]);
	if (!child)
		raise(SIGKILL);
	MUST(waitpid(child, NULL, 0) != child);
	poll_on(0);
}

/* Requests without a completion fill the queue: nothing says that they are done. */
static void hang_full(void)
{
	ends_open();
	say_ready();
	for (;;)
		if (ends_send(1, IBV_WR_RDMA_WRITE, 0) == ENOMEM)
			usleep(20000);
}

/* Both ends wait for the other one's permission to send. */
static void hang_credit(void)
{
	ends_open();
	for (int i = 0; i < 4; i++)
		MUST(ends_receive(1));
	poll_on(1);
}

static void hang_cm(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	struct rdma_event_channel *channel = NEED(rdma_create_event_channel());
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	MUST(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	MUST(rdma_bind_addr(id, (struct sockaddr *)&any));
	MUST(rdma_listen(id, 1));
	say_ready();
	MUST(rdma_get_cm_event(channel, &event));
}

/* An event was taken, and never acknowledged. */
static void hang_destroy(void)
{
	ends_open_with_events();
	MUST(ends_receive(1));
	MUST(ibv_req_notify_cq(ends.cq[1], 0));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	wait_event();
	MUST(ibv_destroy_qp(ends.qp[0]) || ibv_destroy_qp(ends.qp[1]));
	say_ready();
	ibv_destroy_cq(ends.cq[1]);
}

/* Tries again what a limit forbids. With VERBATIM_SOFT_MEMLOCK in its environment. */
static void hang_memlock(void)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };
	static char memory[2][40 << 10] __attribute__((aligned(4096)));
	struct ibv_pd *pd = NEED(ibv_alloc_pd(open_first_device()));

	MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
	NEED(ibv_reg_mr(pd, memory[0], sizeof(memory[0]), IBV_ACCESS_LOCAL_WRITE));
	NEED(ibv_reg_mr(pd, memory[1], 16 << 10, IBV_ACCESS_LOCAL_WRITE));
	say_ready();
	while (!ibv_reg_mr(pd, memory[1], sizeof(memory[1]), IBV_ACCESS_LOCAL_WRITE))
		usleep(20000);
}

/* The state changes were forgotten, and so are the results of posts. */
static void hang_state(void)
{
	ends_make();
	to_init(ends.qp[0]);
	to_init(ends.qp[1]);
	ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED);
	poll_on(0);
}

static pthread_mutex_t mutexes[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };
static pthread_barrier_t barrier;

static void *take_both(void *first)
{
	size_t i = (size_t)first;

	pthread_mutex_lock(&mutexes[i]);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&mutexes[!i]);
	return NULL;
}

static void hang_deadlock(void)
{
	pthread_t thread[2];

	ends_open();
	pthread_barrier_init(&barrier, NULL, 3);
	for (size_t i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, take_both, (void *)i));
	pthread_barrier_wait(&barrier);
	say_ready();
	pthread_join(thread[0], NULL);
}

static volatile sig_atomic_t over;

static void end_work(int signal)
{
	over = signal;
}

/* Events and sleeps, of which none may fail while another process looks. */
static void work_on(void)
{
	uint64_t sent = 0, sum = 0;

	signal(SIGUSR1, end_work);
	ends_open_with_events();
	say_ready();
	for (; !over; sent++) {
		MUST(usleep(2000) && !over);
		MUST(ends_receive(1));
		MUST(ibv_req_notify_cq(ends.cq[1], 0));
		memset(ends.memory[0], (int)(sent & 0xff), 64);
		MUST(ends_send(sent, IBV_WR_SEND, IBV_SEND_SIGNALED));
		MUST(ends_await(0, 1) != IBV_WC_SUCCESS);
		wait_event();
		ibv_ack_cq_events(ends.cq[1], 1);
		MUST(ends_await(1, 1) != IBV_WC_SUCCESS);
		MUST(memcmp(ends.memory[0], ends.memory[1], 64));
		sum += (unsigned char)ends.memory[1][63] == (sent & 0xff);
	}
	printf("%s\n", sent && sum == sent ? "all arrived" : "some are missing");
	ends_close();
	exit(0);
}

static const struct reason {
	const char *name;
	void (*hang)(void);
} reasons[] = {
	{ "rnr", hang_rnr },           { "wakeup", hang_wakeup },   { "peer", hang_peer },
	{ "full", hang_full },         { "credit", hang_credit },   { "cm", hang_cm },
	{ "destroy", hang_destroy },   { "memlock", hang_memlock }, { "state", hang_state },
	{ "deadlock", hang_deadlock }, { "works", work_on },
};

int main(int argc, char **argv)
{
	alarm(argc > 1 && !strcmp(argv[1], "works") ? 3600 : 120);
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (argc > 1 && !strcmp(argv[1], reasons[i].name))
			reasons[i].hang();
	return 2;
}
