/*
 * A job whose ranks pass messages around a ring, until one of them makes the mistake that MODE
 * names: ranks N MODE [good]
 *
 *	launcher --fork, exec--> rank 0 .. N-1, with the variables of Slurm
 *	board: a page that all of them share, in place of a network for numbers of queue pairs
 *
 * With RANKS_BOARD, the name of a file for the board, and RANKS_RUN, a command such as "srun -n
 * 64", that command starts the ranks, on this host; RANKS_NODE is the number of ranks of a node.
 *
 * If the mistake stops the job, the launcher kills it, once each of the other ranks is known to
 * wait in vain: since a moment when all of them had waited for WAIT_NS, each has polled again and
 * none has gone on. With `good` the mistake is left out, and the job ends by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/apps/app.h"

enum {
	BOARD = 100, /* descriptors */
	NEVER = 101, /* of a pipe into which nothing is written */
	NODE = 4,    /* ranks of a node, by default */
	MANY_RANKS = 64,
	AT = 3, /* the step of the mistake */
	DEPTH = 8,
	AHEAD = 4, /* receives */
	BYTES = 4096,
	MANY = 8 << 20, /* bytes that RLIMIT_MEMLOCK does not allow */
	WAIT_NS = 300000000,
	ALIVE_NS = 1200000000,
	SEEN_NS = 800000000, /* the same, if samples of the recorder are to show it */
	SLOW_US = 60000,
	FRESH = 64 << 20, /* bytes that are not in memory before they are registered */
	FRESH_NS = 15000000,
};

enum mode {
	STOPPED,
	NO_RECEIVE,
	DEAD,
	SLOW,
	LATE_KEY,
	LOST_WAKEUP,
	FULL_QUEUE,
	WRONG_PEER,
	MEMLOCK,
	FORK,
	DEADLOCK,
	UNREAD,
	LATE_POLL,
	REGISTER,
	MODES
};

static const char *const modes[MODES] = { "stopped",   "no-receive",  "dead",       "slow",
					  "late-key",  "lost-wakeup", "full-queue", "wrong-peer",
					  "memlock",   "fork",        "deadlock",   "unread",
					  "late-poll", "register" };

enum side { RIGHT, LEFT, CHORD, SIDES, SENT = SIDES }; /* of the ring; CHORD closes a triangle */

struct slot {
	atomic_uint number[SIDES]; /* of its queue pairs */
	atomic_ullong address;     /* of its memory, */
	atomic_uint rkey;
	atomic_ullong steps, polls;
	atomic_ullong since; /* when its wait began, ns; 0: it does not wait */
	atomic_bool planted; /* the mistake has been made */
	atomic_bool stops;   /* it is about to stop, and may be continued */
	atomic_int pid;
};

struct board {
	pthread_barrier_t barrier;
	struct slot slots[];
};

static struct {
	enum mode mode;
	bool good;
	int n, rank, culprit;
	unsigned int steps;
	struct board *board;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2]; /* of sends, of receives */
	struct ibv_mr *mr;
	struct ibv_qp *qp[SIDES];
	unsigned int received[SIDES + 1]; /* completions that were polled, and not awaited yet */
	unsigned int unsignaled;
} job;

static char memory[MANY] __attribute__((aligned(4096)));

static struct slot *slot_of(int rank)
{
	return &job.board->slots[(rank + job.n) % job.n];
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Does this rank make the mistake now, or the difference that replaces it? */
static bool is_planted(enum mode mode)
{
	return job.mode == mode && job.rank == job.culprit && !job.good;
}

static int ranks_of_node(void)
{
	const char *given = getenv("RANKS_NODE");

	return given ? atoi(given) : NODE;
}

static bool is_in_triangle(int rank)
{
	return job.mode == DEADLOCK && rank < job.culprit && rank >= job.culprit - 3;
}

static void wait_for_ever(void)
{
	slot_of(job.rank)->planted = true;
	for (;;)
		pause();
}

/* Posts */

static struct ibv_sge make_sge(void)
{
	return (struct ibv_sge){ (uintptr_t)memory, 64, job.mr->lkey };
}

static void post_receive(enum side side)
{
	struct ibv_sge sge = make_sge();
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)side, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(job.qp[side], &wr, &bad));
}

static int post_send(enum side side, enum ibv_wr_opcode opcode, unsigned int flags)
{
	const struct slot *right = slot_of(job.rank + 1);
	struct ibv_sge sge = make_sge();
	struct ibv_send_wr wr = { .wr_id = SENT,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = flags },
			   *bad;

	if (opcode != IBV_WR_SEND)
		wr.wr.rdma = (typeof(wr.wr.rdma)){ right->address, right->rkey };
	return ibv_post_send(job.qp[side], &wr, &bad);
}

/* Waits */

static void rest_a_while(void)
{
	atomic_fetch_add(&slot_of(job.rank)->polls, 1);
	usleep(job.n > MANY_RANKS ? 20000 : 1000);
}

static void poll_once(int cq)
{
	struct ibv_wc wc;

	if (!ibv_poll_cq(job.cq[cq], 1, &wc)) {
		rest_a_while();
		return;
	}
	MUST((int)wc.status);
	job.received[wc.wr_id]++;
}

/* A completion of that CQ: a receive from that side; of sends SENT. */
static void await_from(int cq, enum side side)
{
	struct slot *slot = slot_of(job.rank);

	slot->since = now_ns();
	while (!job.received[side])
		poll_once(cq);
	job.received[side]--;
	slot->since = 0;
}

static void await_sent(void)
{
	await_from(0, SENT);
}

/* The mistake: the message has come before the CQ is armed, which is not polled then. */
static void sleep_over_it(void)
{
	struct ibv_cq *cq;
	void *context;

	while (slot_of(job.rank - 1)->steps <= AT)
		usleep(1000);
	slot_of(job.rank)->planted = true;
	MUST(ibv_req_notify_cq(job.cq[1], 0));
	MUST(ibv_get_cq_event(job.channel, &cq, &context));
}

static void await_event(void)
{
	struct ibv_cq *cq;
	void *context;

	MUST(ibv_req_notify_cq(job.cq[1], 0));
	poll_once(1);
	if (!job.received[LEFT]) {
		MUST(ibv_get_cq_event(job.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
	await_from(1, LEFT);
}

/* A rank that is slow in each step, and not only once; or all are, as long as each other. */
static bool is_slow(enum mode mode)
{
	return job.mode == mode && (job.good || job.rank == job.culprit);
}

static void be_slow(void)
{
	usleep(job.good ? SLOW_US / 4 : SLOW_US);
}

static void await_message(void)
{
	bool now = slot_of(job.rank)->steps == AT;

	if (is_slow(LATE_POLL))
		be_slow();
	if (now && is_planted(LOST_WAKEUP))
		sleep_over_it();
	if (now && is_planted(UNREAD)) {
		slot_of(job.rank)->planted = true;
		await_sent(); /* none is outstanding */
	}
	if (job.channel && job.good)
		await_event();
	else
		await_from(1, LEFT);
}

/* Mistakes */

/* Until the launcher continues it. */
static void stop_here(void)
{
	if (job.mode != STOPPED || job.rank != job.culprit)
		return;
	slot_of(job.rank)->stops = true;
	raise(SIGSTOP);
	slot_of(job.rank)->stops = false;
}

static void run_command(void)
{
	if (job.mode != FORK || job.rank != job.culprit)
		return;
	slot_of(job.rank)->planted = true;
	if (system(job.good ? "true" : "cat /dev/fd/101 >/dev/null"))
		exit(1);
}

/* Each of three sends to the next, and posts the receive for its own message only afterwards. */
static void close_triangle(void)
{
	enum side to = job.rank == job.culprit - 1 ? CHORD : RIGHT;
	enum side from = job.rank == job.culprit - 3 ? CHORD : LEFT;

	if (!is_in_triangle(job.rank))
		return;
	if (job.good)
		post_receive(from);
	MUST(post_send(to, IBV_WR_SEND, IBV_SEND_SIGNALED));
	await_sent();
	if (!job.good)
		post_receive(from);
	await_from(1, from);
	post_receive(LEFT);
}

static bool is_on_node(int rank)
{
	return rank / ranks_of_node() == job.culprit / ranks_of_node();
}

/* The registration fails, and the rank waits until its memory is examined. */
static void register_more(void)
{
	struct ibv_mr *mr;

	if (job.mode != MEMLOCK)
		return;
	mr = ibv_reg_mr(job.pd, memory, MANY, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		wait_for_ever();
	MUST(ibv_dereg_mr(mr));
}

/* The rank registers a new buffer for each message, whose pages are all allocated then. */
static void register_fresh(void)
{
	uint64_t begin = now_ns();
	size_t bytes = job.good ? BYTES : FRESH;

	do {
		void *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		NEED(fresh != MAP_FAILED);
		MUST(ibv_dereg_mr(NEED(ibv_reg_mr(job.pd, fresh, bytes, IBV_ACCESS_LOCAL_WRITE))));
		MUST(munmap(fresh, bytes));
	} while (!job.good && now_ns() - begin < FRESH_NS);
}

static void make_mistake(void)
{
	stop_here();
	run_command();
	register_more();
	if (is_planted(DEAD)) {
		slot_of(job.rank)->planted = true;
		raise(SIGKILL);
	}
	if (is_planted(LATE_KEY))
		wait_for_ever();
	close_triangle();
}

/* Without a completion of its own, the queue is never known to be empty. */
static void send_unsignaled(void)
{
	bool signaled = job.good && ++job.unsignaled % 4 == 0;

	while (post_send(RIGHT, IBV_WR_SEND, signaled ? IBV_SEND_SIGNALED : 0) == ENOMEM) {
		slot_of(job.rank)->planted = true;
		await_sent();
	}
	if (signaled)
		await_sent();
}

/* Steps */

/* The receiver sends a message when its memory is ready, and the sender writes there. */
static void exchange_key(void)
{
	MUST(post_send(LEFT, IBV_WR_SEND, IBV_SEND_SIGNALED));
	await_sent();
	await_from(1, RIGHT);
	post_receive(RIGHT);
	MUST(post_send(RIGHT, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_SEND_SIGNALED));
	await_sent();
	await_from(1, LEFT);
	post_receive(LEFT);
}

/* Is the receive of the next message posted later, or by mistake not at all? */
static bool is_last_receive(int step)
{
	return is_planted(NO_RECEIVE) || (is_in_triangle(job.rank) && step + 1 == AT);
}

static void exchange_message(int step)
{
	if (job.mode == FULL_QUEUE && job.rank == job.culprit) {
		send_unsignaled();
	} else {
		MUST(post_send(RIGHT, IBV_WR_SEND, IBV_SEND_SIGNALED));
		await_sent();
	}
	await_message();
	if (!is_last_receive(step))
		post_receive(LEFT);
}

static void do_step(int step)
{
	if (step == AT)
		make_mistake();
	if (is_slow(SLOW))
		be_slow();
	if (is_slow(REGISTER))
		register_fresh();
	if (job.mode == LATE_KEY)
		exchange_key();
	else
		exchange_message(step);
	atomic_fetch_add(&slot_of(job.rank)->steps, 1);
}

/* Set-up */

static void limit_memory(void)
{
	const struct rlimit limit = { .rlim_cur = MANY / 2, .rlim_max = MANY / 2 };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	MUST(syscall(SYS_capget, &head, data));
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	MUST(syscall(SYS_capset, &head, data));
	MUST(setrlimit(RLIMIT_MEMLOCK, &limit));
}

static struct ibv_qp *make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = job.cq[0],
		.recv_cq = job.cq[1],
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};

	return NEED(ibv_create_qp(job.pd, &attr));
}

/* The queue pair at the other end. */
static uint32_t find_number(enum side side)
{
	int skipped = is_planted(WRONG_PEER) ? 1 : 0;

	if (side == RIGHT)
		return slot_of(job.rank + 1 + skipped)->number[LEFT];
	if (side == LEFT)
		return slot_of(job.rank - 1)->number[RIGHT];
	return slot_of(job.rank == job.culprit - 1 ? job.rank - 2 : job.rank + 2)->number[CHORD];
}

static bool has_side(enum side side)
{
	return side != CHORD || (is_in_triangle(job.rank) && job.rank != job.culprit - 2);
}

static void open_rank(void)
{
	job.context = open_first_device();
	job.pd = NEED(ibv_alloc_pd(job.context));
	if (job.mode == MEMLOCK && is_on_node(job.rank) && !job.good)
		limit_memory();
	job.mr = NEED(ibv_reg_mr(job.pd, memory, BYTES,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	slot_of(job.rank)->address = (uintptr_t)memory;
	slot_of(job.rank)->rkey = job.mr->rkey;
	if (job.mode == LOST_WAKEUP && job.rank == job.culprit)
		job.channel = NEED(ibv_create_comp_channel(job.context));
	for (int i = 0; i < 2; i++)
		job.cq[i] = NEED(ibv_create_cq(job.context, 64, NULL, i ? job.channel : NULL, 0));
	for (int side = 0; side < SIDES; side++) {
		if (!has_side(side))
			continue;
		job.qp[side] = make_qp();
		slot_of(job.rank)->number[side] = job.qp[side]->qp_num;
	}
}

static void connect_rank(void)
{
	bool one = job.mode == DEADLOCK || job.mode == LOST_WAKEUP;
	int receives = is_planted(NO_RECEIVE) ? AT : one ? 1 : AHEAD;

	for (int side = 0; side < SIDES; side++)
		if (job.qp[side])
			connect_to(job.context, job.qp[side], find_number(side));
	for (int i = 0; i < receives; i++) {
		post_receive(LEFT);
		if (job.mode == LATE_KEY)
			post_receive(RIGHT);
	}
}

static void close_rank(void)
{
	for (int side = 0; side < SIDES; side++)
		if (job.qp[side])
			MUST(ibv_destroy_qp(job.qp[side]));
	for (int i = 0; i < 2; i++)
		MUST(ibv_destroy_cq(job.cq[i]));
	if (job.channel)
		MUST(ibv_destroy_comp_channel(job.channel));
	MUST(ibv_dereg_mr(job.mr));
	MUST(ibv_dealloc_pd(job.pd));
	MUST(ibv_close_device(job.context));
}

/* A pipe into which nothing is written, unless the launcher has left one. */
static void make_never(void)
{
	int never[2];

	if (fcntl(NEVER, F_GETFD) < 0)
		NEED(!pipe2(never, O_CLOEXEC) && dup2(never[0], NEVER) == NEVER);
}

static int be_rank(void)
{
	if (!getenv("RANKS_RUN"))
		MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	make_never();
	slot_of(job.rank)->pid = getpid();
	connected_with.min_rnr_timer = 1;
	/* until all wait, no send to a dead rank may fail */
	if (getenv("RANKS_RUN") || job.n > MANY_RANKS)
		connected_with.timeout = 20;
	open_rank();
	pthread_barrier_wait(&job.board->barrier);
	connect_rank();
	pthread_barrier_wait(&job.board->barrier);
	for (int step = 0; step < (int)job.steps; step++)
		do_step(step);
	pthread_barrier_wait(&job.board->barrier);
	close_rank();
	return 0;
}

/* The launcher */

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	MUST(setenv(name, text, 1));
}

static pid_t start_rank(char **argv, int rank)
{
	char node[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(node, sizeof(node), "n%d", rank / ranks_of_node());
	set_number("SLURM_PROCID", rank);
	set_number("SLURM_NTASKS", job.n);
	set_number("SLURM_LOCALID", rank % ranks_of_node());
	set_number("SLURM_JOB_ID", 7);
	MUST(setenv("SLURMD_NODENAME", node, 1));
	if (job.mode == MEMLOCK && is_on_node(rank) && !job.good)
		MUST(setenv("VERBATIM_SOFT_MEMLOCK", "1", 1));
	if (getenv("RANKS_VIA")) /* a program that starts this one */
		execvp(getenv("RANKS_VIA"), argv);
	execv("/proc/self/exe", argv);
	_exit(2);
}

static struct board *map_board(size_t bytes)
{
	struct board *board = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, BOARD, 0);

	NEED(board != MAP_FAILED);
	return board;
}

/* The one of the launcher. */
static struct board *open_board(size_t bytes)
{
	const char *name = getenv("RANKS_BOARD");
	int fd = name ? open(name, O_RDWR) : BOARD;

	NEED(fd == BOARD || dup2(fd, BOARD) == BOARD);
	return map_board(bytes);
}

static void make_board(size_t bytes)
{
	const char *name = getenv("RANKS_BOARD");
	int fd = name ? open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) : memfd_create("board", 0);
	pthread_barrierattr_t attr;

	NEED(dup2(fd, BOARD) == BOARD && !ftruncate(BOARD, (off_t)bytes));
	make_never();
	job.board = map_board(bytes);
	MUST(pthread_barrierattr_init(&attr));
	MUST(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_barrier_init(&job.board->barrier, &attr, (unsigned int)job.n));
}

/* A rank that is done, or that does something else by mistake. */
static bool is_excused(int rank)
{
	const struct slot *slot = slot_of(rank);

	return slot->planted || slot->steps == job.steps ||
	       (rank == job.culprit && job.mode == STOPPED);
}

static uint64_t how_long(void)
{
	if (getenv("RANKS_VIA")) /* the recorders end first: that must be longer */
		return ALIVE_NS;
	return job.mode == STOPPED || job.mode == FORK ? SEEN_NS : WAIT_NS;
}

/* Does the mistake stop the job? */
static bool is_hung(void)
{
	return job.mode != SLOW && job.mode != LATE_POLL && job.mode != REGISTER;
}

/* Have all waited for long? Then @seen has how far each is. */
static bool all_wait(uint64_t *seen)
{
	uint64_t now = now_ns();

	for (int i = 0; i < job.n; i++) {
		uint64_t since = slot_of(i)->since;

		if (!is_excused(i) && (!since || now - since < how_long()))
			return false;
		seen[2 * i] = slot_of(i)->steps;
		seen[2 * i + 1] = slot_of(i)->polls;
	}
	return true;
}

/* Have all ranks polled twice since then, without progress? -1: one has made progress. */
static int poll_in_vain(const uint64_t *seen)
{
	for (int i = 0; i < job.n; i++) {
		if (is_excused(i))
			continue;
		if (slot_of(i)->steps != seen[2 * i] || !slot_of(i)->since)
			return -1;
		if (slot_of(i)->polls < seen[2 * i + 1] + 2)
			return 0;
	}
	return 1;
}

static void kill_all(const pid_t *pids)
{
	for (int i = 0; i < job.n; i++)
		if (pids[i])
			kill(pids[i], SIGTERM);
	for (int i = 0; i < job.n; i++)
		if (pids[i])
			kill(pids[i], SIGCONT);
}

/* Reap one process; a stopped process is continued if that is allowed. */
static bool reap_one(pid_t *pids, int *left, int *failed)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG | WUNTRACED);

	if (pid <= 0)
		return false;
	if (WIFSTOPPED(status)) {
		if (job.good)
			kill(pid, SIGCONT);
		return true;
	}
	for (int i = 0; i < job.n; i++)
		if (pids[i] == pid) {
			slot_of(i)->planted = true;
			pids[i] = 0;
		}
	*failed += status != 0;
	--*left;
	return true;
}

static int launch_ranks(char **argv)
{
	pid_t *pids = NEED(calloc((size_t)job.n, sizeof(*pids)));
	uint64_t *seen = NEED(calloc((size_t)job.n, 2 * sizeof(*seen)));
	int left = job.n, failed = 0, vain;
	bool waiting = false;

	for (int i = 0; i < job.n; i++)
		pids[i] = start_rank(argv, i);
	while (left) {
		if (reap_one(pids, &left, &failed))
			continue;
		vain = waiting ? poll_in_vain(seen) : -1;
		if (vain > 0 && !job.good && is_hung())
			kill_all(pids);
		if (vain < 0)
			waiting = all_wait(seen);
		usleep(job.n > MANY_RANKS ? 20000 : 2000);
	}
	free(pids);
	free(seen);
	return failed ? 1 : 0;
}

/* The same for ranks that another launcher has started. */
static void signal_all(int number)
{
	for (int i = 0; i < job.n; i++)
		if (slot_of(i)->pid)
			kill(slot_of(i)->pid, number);
}

static pid_t start_command(char **argv)
{
	char command[4096];
	size_t n = (size_t)snprintf(command, sizeof(command), "exec %s", getenv("RANKS_RUN"));
	pid_t pid;

	for (; *argv; argv++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " %s", *argv);
	pid = fork();
	if (pid)
		return pid;
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(2);
}

/* A stopped rank is continued if that is allowed; one that has ended does not wait. */
static void look_at_ranks(void)
{
	for (int i = 0; i < job.n; i++) {
		pid_t rank = slot_of(i)->pid;

		if (job.good && slot_of(i)->stops)
			kill(rank, SIGCONT);
		if (rank && kill(rank, 0) && errno == ESRCH)
			slot_of(i)->planted = true;
	}
}

static int run_ranks(char **argv)
{
	uint64_t *seen = NEED(calloc((size_t)job.n, 2 * sizeof(*seen)));
	bool waiting = false;
	pid_t pid = start_command(argv);
	int status, vain;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		look_at_ranks();
		vain = waiting ? poll_in_vain(seen) : -1;
		if (vain > 0 && !job.good && is_hung()) {
			signal_all(SIGTERM);
			signal_all(SIGCONT);
		}
		if (vain < 0)
			waiting = all_wait(seen);
		usleep(20000);
	}
	free(seen);
	return status ? 1 : 0;
}

/* What the launcher would have set before the device was loaded. */
static void limit_device(char **argv)
{
	if (job.mode != MEMLOCK || !is_on_node(job.rank) || job.good || !getenv("RANKS_RUN") ||
	    getenv("VERBATIM_SOFT_MEMLOCK"))
		return;
	MUST(setenv("VERBATIM_SOFT_MEMLOCK", "1", 1));
	execv("/proc/self/exe", argv);
}

static void read_arguments(int argc, char **argv)
{
	NEED(argc > 2);
	job.n = atoi(argv[1]);
	job.good = argc > 3 && !strcmp(argv[3], "good");
	while (job.mode < MODES && strcmp(modes[job.mode], argv[2]) != 0)
		job.mode++;
	NEED(job.n > 6 && job.mode < MODES);
	job.culprit = job.n / 2 + 1;
	job.steps = job.n > MANY_RANKS ? MANY_RANKS / 2 : (unsigned int)job.n + AHEAD;
}

int main(int argc, char **argv)
{
	const char *rank = getenv("SLURM_PROCID");
	size_t bytes;

	read_arguments(argc, argv);
	bytes = sizeof(struct board) + (size_t)job.n * sizeof(struct slot);
	if (rank) {
		job.rank = atoi(rank);
		limit_device(argv);
		job.board = open_board(bytes);
		return be_rank();
	}
	make_board(bytes);
	return getenv("RANKS_RUN") ? run_ranks(argv) : launch_ranks(argv);
}
