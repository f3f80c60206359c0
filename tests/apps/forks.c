/*
 * Processes that fork, with traffic between parent and child: forks MODE
 *
 * 	traffic N	N children, each connected with its parent
 * 	inherited	the child uses its parent's queue pair and CQ, registers in its
 * 			domain and destroys its queue pair; then the parent continues to use it
 * 	nested		a child of a child, each connected with its parent
 * 	killed		the child is killed while its parent sends to it
 * 	orphan		the parent ends first, and the child continues with its own child
 * 	copies		both sides change their copies of memory registered before the fork
 * 	thread		a thread forks while another one has traffic
 * 	spawn		a child by posix_spawn(), another program, connected with its parent
 * 	init		ibv_fork_init(), and then as copies
 *
 * Each end sends and receives ROUNDS messages.
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/apps/app.h"

enum { ROUNDS = 20, BYTES = 64, CHILDREN = 64 };

extern char **environ;

/* One end of a connection to another process. */
struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char memory[2 * BYTES]; /* sent from, received into */
};

struct pipes {
	int up[2], down[2];
};

static void open_end(struct end *end)
{
	end->context = open_first_device();
	end->pd = NEED(ibv_alloc_pd(end->context));
	end->cq = NEED(ibv_create_cq(end->context, 64, NULL, NULL, 0));
	end->mr = NEED(ibv_reg_mr(end->pd, end->memory, sizeof(end->memory),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	end->qp = create_rc_qp(end->pd, end->cq);
	to_init(end->qp);
}

static void close_end(struct end *end)
{
	MUST(ibv_destroy_qp(end->qp));
	MUST(ibv_dereg_mr(end->mr));
	MUST(ibv_destroy_cq(end->cq));
	MUST(ibv_dealloc_pd(end->pd));
	MUST(ibv_close_device(end->context));
}

static void connect_end(struct end *end, uint32_t number)
{
	MUST(to_rtr(end->qp, number, own_address(end->context, 0)));
	to_rts(end->qp);
}

static void post_receive(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->memory + BYTES, BYTES, end->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 };

	MUST(ibv_post_recv(end->qp, &wr, &bad));
}

static int post_message(struct end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->memory, BYTES, end->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = 1,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	return ibv_post_send(end->qp, &wr, &bad);
}

/* The statuses of both: a message in each direction. */
static enum ibv_wc_status await_status(struct end *end, int n)
{
	struct ibv_wc wc = { 0 };

	for (int got; n && !wc.status; n -= got) {
		got = ibv_poll_cq(end->cq, 1, &wc);
		NEED(got >= 0);
	}
	return wc.status;
}

static void swap_words(int to, int from, uint32_t *word)
{
	MUST(write(to, word, sizeof(*word)) != sizeof(*word));
	MUST(read(from, word, sizeof(*word)) != sizeof(*word));
}

/* An end whose number is sent to the other process, and ROUNDS messages in each direction. */
static void talk_over(struct end *end, int to, int from)
{
	uint32_t word = end->qp->qp_num;

	swap_words(to, from, &word);
	post_receive(end);
	connect_end(end, word);
	swap_words(to, from, &word); /* both can receive */
	for (int i = 0; i < ROUNDS; i++) {
		memset(end->memory, 'a' + i % 26, BYTES);
		MUST(post_message(end));
		MUST(await_status(end, 2));
		NEED(end->memory[BYTES] == 'a' + i % 26);
		post_receive(end);
		swap_words(to, from, &word);
	}
}

static void talk_apart(int to, int from)
{
	struct end end = { 0 };

	open_end(&end);
	talk_over(&end, to, from);
	close_end(&end);
}

static void make_pipes(struct pipes *p)
{
	MUST(pipe(p->up) || pipe(p->down));
}

static void talk_up(const struct pipes *p)
{
	talk_apart(p->up[1], p->down[0]);
}

static void talk_down(const struct pipes *p)
{
	talk_apart(p->down[1], p->up[0]);
}

static pid_t fork_child(void (*run)(void *), void *arg)
{
	pid_t child = fork();

	NEED(child >= 0);
	if (child)
		return child;
	run(arg);
	_exit(0);
}

static void await_child(pid_t child, int wanted)
{
	int status;

	NEED(waitpid(child, &status, 0) == child);
	NEED(status == wanted);
}

static void run_up(void *arg)
{
	talk_up(arg);
}

static void have_traffic(int n)
{
	static struct pipes pipes[CHILDREN];
	pid_t children[CHILDREN];

	n = n < CHILDREN ? n : CHILDREN;
	for (int i = 0; i < n; i++) {
		make_pipes(&pipes[i]);
		children[i] = fork_child(run_up, &pipes[i]);
	}
	for (int i = 0; i < n; i++)
		talk_down(&pipes[i]);
	for (int i = 0; i < n; i++)
		await_child(children[i], 0);
}

static struct end ends[2]; /* of one process */

static void open_both(void)
{
	for (int i = 0; i < 2; i++)
		open_end(&ends[i]);
	for (int i = 0; i < 2; i++)
		connect_end(&ends[i], ends[!i].qp->qp_num);
}

static void talk_alone(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		post_receive(&ends[1]);
		MUST(post_message(&ends[0]));
		MUST(await_status(&ends[0], 1));
		MUST(await_status(&ends[1], 1));
	}
}

/* The device decides whether any of it works. */
static void use_inherited(void *unused)
{
	struct ibv_wc wc;
	struct ibv_mr *mr;

	(void)unused;
	ibv_req_notify_cq(ends[0].cq, 0);
	post_message(&ends[0]);
	ibv_poll_cq(ends[0].cq, 1, &wc);
	mr = ibv_reg_mr(ends[0].pd, ends[0].memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (mr)
		ibv_dereg_mr(mr);
	ibv_destroy_qp(ends[0].qp);
}

static void close_both(void)
{
	for (int i = 0; i < 2; i++)
		close_end(&ends[i]);
}

static void share_objects(void)
{
	open_both();
	talk_alone();
	await_child(fork_child(use_inherited, NULL), 0);
	talk_alone();
	close_both();
}

static void run_nested(void *arg)
{
	struct pipes pipes;
	pid_t child;

	make_pipes(&pipes);
	child = fork_child(run_up, &pipes);
	talk_down(&pipes);
	talk_up(arg);
	await_child(child, 0);
}

static void nest_forks(void)
{
	struct pipes pipes;
	pid_t child;

	make_pipes(&pipes);
	child = fork_child(run_nested, &pipes);
	talk_down(&pipes);
	await_child(child, 0);
}

static void run_until_killed(void *arg)
{
	const struct pipes *p = arg;
	struct end end = { 0 };

	open_end(&end);
	talk_over(&end, p->up[1], p->down[0]);
	for (;;)
		pause();
}

static void kill_child(void)
{
	struct end end = { 0 };
	struct pipes pipes;
	pid_t child;

	connected_with.timeout = 8;
	connected_with.retry_cnt = 2;
	make_pipes(&pipes);
	child = fork_child(run_until_killed, &pipes);
	open_end(&end);
	talk_over(&end, pipes.down[1], pipes.up[0]);
	kill(child, SIGKILL);
	await_child(child, SIGKILL);
	do { /* the device may notice it late */
		MUST(post_message(&end));
	} while (await_status(&end, 1) == IBV_WC_SUCCESS);
	close_end(&end);
}

/* The parent of this process has ended when it reads the end of the pipe. */
static void run_orphan(void *arg)
{
	const struct pipes *p = arg;
	uint32_t word;

	close(p->down[1]);
	NEED(read(p->down[0], &word, sizeof(word)) == 0);
	open_both();
	have_traffic(1);
	close_both();
	MUST(write(p->up[1], "x", 1) != 1);
}

static void run_parent(void *arg)
{
	open_both();
	talk_alone();
	fork_child(run_orphan, arg);
	close_both();
}

static void leave_orphan(void)
{
	struct pipes pipes;
	char word;
	pid_t child;

	make_pipes(&pipes);
	child = fork_child(run_parent, &pipes);
	close(pipes.down[1]);
	await_child(child, 0);
	MUST(read(pipes.up[0], &word, 1) != 1);
}

static void change_copy(void *arg)
{
	memset(ends[0].memory, 'c', BYTES);
	memset(ends[1].memory, 'C', 2 * BYTES);
	talk_up(arg);
}

/* Memory that was registered before the fork belongs to the parent, unchanged. */
static void change_copies(void)
{
	struct pipes pipes;
	pid_t child;

	make_pipes(&pipes);
	open_both();
	memset(ends[0].memory, 'p', BYTES);
	talk_alone();
	child = fork_child(change_copy, &pipes);
	talk_down(&pipes);
	await_child(child, 0);
	NEED(ends[0].memory[0] == 'p' && ends[1].memory[BYTES] == 'p');
	talk_alone();
	close_both();
}

static void *run_thread(void *arg)
{
	pid_t child = fork_child(run_up, arg);

	talk_down(arg);
	await_child(child, 0);
	return NULL;
}

static void fork_in_thread(void)
{
	struct pipes pipes;
	pthread_t thread;

	make_pipes(&pipes);
	open_both();
	MUST(pthread_create(&thread, NULL, run_thread, &pipes));
	talk_alone();
	MUST(pthread_join(thread, NULL));
	talk_alone();
	close_both();
}

static void spawn_child(char *self)
{
	char to[16], from[16];
	char *argv[] = { self, (char *)"talk", to, from, NULL };
	struct pipes pipes;
	pid_t child;

	make_pipes(&pipes);
	snprintf(to, sizeof(to), "%d", pipes.up[1]);
	snprintf(from, sizeof(from), "%d", pipes.down[0]);
	MUST(posix_spawn(&child, self, NULL, NULL, argv, environ));
	talk_down(&pipes);
	await_child(child, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "traffic"))
		have_traffic(argc > 2 ? atoi(argv[2]) : 1);
	else if (!strcmp(mode, "talk") && argc > 3)
		talk_apart(atoi(argv[2]), atoi(argv[3]));
	else if (!strcmp(mode, "inherited"))
		share_objects();
	else if (!strcmp(mode, "nested"))
		nest_forks();
	else if (!strcmp(mode, "killed"))
		kill_child();
	else if (!strcmp(mode, "orphan"))
		leave_orphan();
	else if (!strcmp(mode, "copies"))
		change_copies();
	else if (!strcmp(mode, "thread"))
		fork_in_thread();
	else if (!strcmp(mode, "spawn"))
		spawn_child(argv[0]);
	else if (!strcmp(mode, "init"))
		MUST(ibv_fork_init()), change_copies();
	else
		return 2;
	return 0;
}
