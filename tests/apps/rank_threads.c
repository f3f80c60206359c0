/*
 * A job of four ranks whose threads have queue pairs of their own, until one thread makes the
 * mistake that MODE names: rank_threads MODE [good]
 *
 *	ring	messages around all ranks
 *	side	the same, over other queue pairs
 *
 *	held		rank 2 has a thread for each, the others have one for both; its side stops
 *	stuck		all have a thread for each; the side of rank 2 stops, and all rings go on
 *	deadlock	likewise; the sides of ranks 1 and 2 send to each other, and post no receive
 *
 * The launcher kills all once those that wait because of the mistake have waited in vain for
 * WAIT_NS. With `good` the mistake is left out, and the job ends by itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/apps/app.h"

enum { BOARD = 100, RANKS = 4, CULPRIT = 2, AT = 3, STEPS = 8, WAIT_NS = 300000000, POLLS = 3 };
enum lane { RING, SIDE, LANES };
enum mode { HELD, STUCK, DEADLOCK, MODES };

static const char *const modes[MODES] = { "held", "stuck", "deadlock" };
static const char *const names[LANES] = { "ring", "side" };

struct slot {
	atomic_uint number[LANES][2];  /* of the queue pairs to the left and right */
	atomic_uint late_polls[LANES]; /* in vain, WAIT_NS after the mistake and its own begin */
};

struct board {
	pthread_barrier_t barrier;
	atomic_ullong planted; /* when; 0: not yet */
	struct slot slots[RANKS];
};

struct line {
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	unsigned int sent, received; /* completions that were polled */
	int step;
};

static struct {
	enum mode mode;
	bool good;
	int rank;
	struct board *board;
	struct ibv_context *context;
	struct ibv_mr *mr;
	struct line lines[LANES];
} job;

static char memory[4096];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void post_receive(enum lane lane, int side)
{
	struct ibv_sge sge = { (uintptr_t)memory, 64, job.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(job.lines[lane].qp[side], &wr, &bad));
}

static void post_send(enum lane lane, int side)
{
	struct ibv_sge sge = { (uintptr_t)memory, 64, job.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	MUST(ibv_post_send(job.lines[lane].qp[side], &wr, &bad));
}

static void poll_once(enum lane lane, uint64_t since)
{
	struct line *line = &job.lines[lane];
	uint64_t planted = job.board->planted;
	struct ibv_wc wc;

	if (ibv_poll_cq(line->cq, 1, &wc)) {
		MUST((int)wc.status);
		line->sent += !(wc.opcode & IBV_WC_RECV);
		line->received += !!(wc.opcode & IBV_WC_RECV);
		return;
	}
	if (planted && now_ns() > planted + WAIT_NS && now_ns() > since + WAIT_NS)
		job.board->slots[job.rank].late_polls[lane]++;
	usleep(1000);
}

static void await_count(enum lane lane, unsigned int *count)
{
	uint64_t since = now_ns();

	while (!*count)
		poll_once(lane, since);
	--*count;
}

static bool is_planted(enum lane lane)
{
	return lane == SIDE && job.lines[lane].step == AT && job.rank == CULPRIT && !job.good;
}

/* The mistake: it stops, and has what the next rank waits for. */
static void hold_message(void)
{
	job.board->planted = now_ns();
	for (;;)
		pause();
}

/* The mistake: both send, and would post the receive only afterwards. */
static void meet_other(int side)
{
	if (!job.good)
		job.board->planted = now_ns();
	post_send(SIDE, side);
	await_count(SIDE, &job.lines[SIDE].sent);
	if (!job.good)
		post_receive(SIDE, side);
	await_count(SIDE, &job.lines[SIDE].received);
}

static void pass_message(enum lane lane)
{
	struct line *line = &job.lines[lane];

	if (is_planted(lane) && job.mode != DEADLOCK)
		hold_message();
	post_send(lane, 1);
	await_count(lane, &line->sent);
	await_count(lane, &line->received);
	post_receive(lane, 0);
	line->step++;
}

/* In a job with a mistake, what is not affected goes on until all are killed. */
static bool goes_on(enum lane lane)
{
	bool ring_is_free = lane == RING && job.mode != HELD && !job.good;

	return ring_is_free || job.lines[lane].step < STEPS;
}

static void run_lane(enum lane lane)
{
	bool meets = lane == SIDE && job.mode == DEADLOCK;

	if (meets && (job.rank == CULPRIT || job.rank == CULPRIT - 1))
		meet_other(job.rank == CULPRIT ? 0 : 1);
	while (!meets && goes_on(lane))
		pass_message(lane);
}

static void *be_thread(void *arg)
{
	enum lane lane = (enum lane)(uintptr_t)arg;

	pthread_setname_np(pthread_self(), names[lane]);
	run_lane(lane);
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[LANES];

	for (uintptr_t lane = 0; lane < LANES; lane++)
		MUST(pthread_create(&threads[lane], NULL, be_thread, (void *)lane));
	for (int lane = 0; lane < LANES; lane++)
		MUST(pthread_join(threads[lane], NULL));
}

static void run_both(void)
{
	while (goes_on(RING)) {
		pass_message(RING);
		pass_message(SIDE);
	}
}

/* Set-up */

static void open_line(struct ibv_pd *pd, enum lane lane)
{
	struct line *line = &job.lines[lane];

	line->cq = NEED(ibv_create_cq(job.context, 16, NULL, NULL, 0));
	for (int side = 0; side < 2; side++) {
		line->qp[side] = create_rc_qp(pd, line->cq);
		job.board->slots[job.rank].number[lane][side] = line->qp[side]->qp_num;
	}
}

static void connect_line(enum lane lane)
{
	bool meets = lane == SIDE && job.mode == DEADLOCK;

	for (int side = 0; side < 2; side++) {
		int other = (job.rank + (side ? 1 : RANKS - 1)) % RANKS;

		connect_to(job.context, job.lines[lane].qp[side],
			   job.board->slots[other].number[lane][!side]);
	}
	if (!meets || job.good)
		post_receive(lane, meets && job.rank < CULPRIT);
}

static void close_line(enum lane lane)
{
	for (int side = 0; side < 2; side++)
		MUST(ibv_destroy_qp(job.lines[lane].qp[side]));
	MUST(ibv_destroy_cq(job.lines[lane].cq));
}

static int be_rank(void)
{
	struct ibv_pd *pd;

	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	connected_with.min_rnr_timer = 1;
	job.context = open_first_device();
	pd = NEED(ibv_alloc_pd(job.context));
	job.mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	for (enum lane lane = 0; lane < LANES; lane++)
		open_line(pd, lane);
	pthread_barrier_wait(&job.board->barrier);
	for (enum lane lane = 0; lane < LANES; lane++)
		connect_line(lane);
	pthread_barrier_wait(&job.board->barrier);
	if (job.mode == HELD && job.rank != CULPRIT)
		run_both();
	else
		run_threads();
	pthread_barrier_wait(&job.board->barrier);
	for (enum lane lane = 0; lane < LANES; lane++)
		close_line(lane);
	MUST(ibv_dereg_mr(job.mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(job.context));
	return 0;
}

/* The launcher */

static pid_t start_rank(char **argv, int rank)
{
	char number[16], node[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(number, sizeof(number), "%d", rank);
	snprintf(node, sizeof(node), "n%d", rank / 2);
	MUST(setenv("SLURM_PROCID", number, 1));
	MUST(setenv("SLURM_NTASKS", "4", 1));
	MUST(setenv("SLURM_JOB_ID", "7", 1));
	MUST(setenv("SLURMD_NODENAME", node, 1));
	execv("/proc/self/exe", argv);
	_exit(2);
}

/* Does a thread of this rank wait for the mistake in the end? */
static bool is_affected(int rank)
{
	if (job.mode == DEADLOCK)
		return rank == CULPRIT || rank == CULPRIT - 1;
	return rank != CULPRIT || job.mode == HELD;
}

static bool all_wait(void)
{
	for (int rank = 0; rank < RANKS; rank++) {
		const struct slot *slot = &job.board->slots[rank];
		unsigned int polls = slot->late_polls[SIDE];

		if (job.mode == HELD)
			polls += slot->late_polls[RING];
		if (is_affected(rank) && polls < POLLS)
			return false;
	}
	return true;
}

static int launch_ranks(char **argv)
{
	pid_t pids[RANKS], pid;
	int left = RANKS, failed = 0, status;

	for (int i = 0; i < RANKS; i++)
		pids[i] = start_rank(argv, i);
	while (left) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			failed += status != 0;
			left--;
			continue;
		}
		for (int i = 0; i < RANKS && !job.good && all_wait(); i++)
			kill(pids[i], SIGTERM);
		usleep(2000);
	}
	return failed ? 1 : 0;
}

static void *map_board(void)
{
	void *board = mmap(NULL, sizeof(*job.board), PROT_READ | PROT_WRITE, MAP_SHARED, BOARD, 0);

	NEED(board != MAP_FAILED);
	return board;
}

static void make_board(void)
{
	pthread_barrierattr_t attr;

	NEED(dup2(memfd_create("board", 0), BOARD) == BOARD &&
	     !ftruncate(BOARD, sizeof(*job.board)));
	job.board = map_board();
	MUST(pthread_barrierattr_init(&attr));
	MUST(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_barrier_init(&job.board->barrier, &attr, RANKS));
}

int main(int argc, char **argv)
{
	const char *rank = getenv("SLURM_PROCID");

	NEED(argc > 1);
	while (job.mode < MODES && strcmp(modes[job.mode], argv[1]) != 0)
		job.mode++;
	NEED(job.mode < MODES);
	job.good = is_good(argc - 1, argv + 1);
	if (!rank) {
		make_board();
		return launch_ranks(argv);
	}
	job.rank = atoi(rank);
	job.board = map_board();
	return be_rank();
}
