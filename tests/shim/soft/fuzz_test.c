/*
 * Two processes talk while a third overwrites their segments at random: they may get errors, but do
 * not crash, hang, or leave anything behind. And other kinds of files in the fabric's directory in
 * place of its own.
 *
 *	SEED=n, ROUNDS=n, SECONDS=n	as for kill_test
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <time.h>
#include <sys/stat.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/shared.h"
#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

enum { PATH = 512 };

static uint64_t dice;

static uint32_t roll_dice(uint32_t sides)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 16) % sides;
}

static long number_from_env(const char *name, long otherwise)
{
	const char *given = getenv(name);

	return given ? atol(given) : otherwise;
}

static double now_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Some operation; it may be refused. */
static void attempt_all(struct end *e, struct address there)
{
	static const enum ibv_wr_opcode all[] = {
		IBV_WR_SEND,      IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};
	static const uint32_t lens[] = { 8, 72, 1000, 8000, 100000 };

	recv_at(e, 1, 500000, 100000);
	rdma_at(e, all[roll_dice(5)], 2, lens[roll_dice(5)], there.addr, there.rkey);
}

static void poll_some(struct end *e)
{
	struct pollfd p = { .fd = e->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct ibv_wc wc[8];
	void *context;

	if (!roll_dice(8)) {
		ibv_req_notify_cq(e->cq, roll_dice(2));
		if (poll(&p, 1, 1) == 1 && !ibv_get_cq_event(e->channel, &cq, &context))
			ibv_ack_cq_events(cq, 1);
	}
	ibv_poll_cq(e->cq, 8, wc);
}

/* A queue pair that has failed is connected again. */
static void revive_qp(struct end *e, struct address there)
{
	if (to_state(e->qp, IBV_QPS_RESET) || to_init(e->qp, ALL_ACCESS) ||
	    to_rtr(e->qp, there.qpn))
		return;
	to_rts(e->qp);
}

static void live_beside(struct end *e, int fd, struct address there)
{
	double end = now_seconds() + 0.03;
	struct ibv_mr *mr;

	/* so that nothing waits for an event that was forged */
	fcntl(e->channel->fd, F_SETFL, O_NONBLOCK);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (now_seconds() < end) {
		attempt_all(e, there);
		poll_some(e);
		if (!roll_dice(16))
			revive_qp(e, there);
		if (!roll_dice(16)) {
			mr = ibv_reg_mr(e->pd, e->buf, 100, ALL_ACCESS);
			if (mr)
				ibv_dereg_mr(mr);
			ibv_resize_cq(e->cq, 64 + roll_dice(64));
		}
	}
}

/* Like end_open(); but a damaged segment may be refused. */
static bool try_end(struct end *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { END_DEPTH, END_DEPTH, 4, 4, 64 } };
	struct ibv_device **list = ibv_get_device_list(NULL);

	e->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	e->pd = e->context ? ibv_alloc_pd(e->context) : NULL;
	e->channel = e->pd ? ibv_create_comp_channel(e->context) : NULL;
	e->cq = e->channel ? ibv_create_cq(e->context, END_CQE, e, e->channel, 0) : NULL;
	if (!e->cq)
		return false;
	e->buf = mmap(NULL, END_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	e->mr = ibv_reg_mr(e->pd, e->buf, END_BYTES, ALL_ACCESS);
	attr.send_cq = attr.recv_cq = e->cq;
	e->qp = e->mr ? ibv_create_qp(e->pd, &attr) : NULL;
	return e->qp;
}

static bool tell_each_other(int fd, const struct end *e, struct address *yours)
{
	struct address mine = end_address(e);

	return send(fd, &mine, sizeof(mine), MSG_NOSIGNAL) == sizeof(mine) &&
	       recv(fd, yours, sizeof(*yours), MSG_WAITALL) == sizeof(*yours);
}

/* Both ends: connected by @fd; they exit at the end. */
static void take_part(int fd)
{
	struct end e = { 0 };
	struct address yours;

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	alarm(20); /* else it hangs */
	if (!try_end(&e) || !tell_each_other(fd, &e, &yours))
		exit(0);
	revive_qp(&e, yours);
	live_beside(&e, fd, yours);
	ibv_destroy_qp(e.qp);
	ibv_dereg_mr(e.mr);
	ibv_destroy_cq(e.cq);
	ibv_destroy_comp_channel(e.channel);
	ibv_dealloc_pd(e.pd);
	ibv_close_device(e.context);
	exit(0);
}

enum { SEGMENTS = 2 };

static int map_segments(struct shm_seg **segs)
{
	DIR *dir = opendir(fabric_dir);
	struct dirent *entry;
	int fd, n = 0;

	while ((entry = readdir(dir)) && n < SEGMENTS) {
		if (strncmp(entry->d_name, "node.", 5))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDWR);
		if (fd < 0)
			continue;
		if (lseek(fd, 0, SEEK_END) != (off_t)SHM_SIZE) {
			close(fd); /* it is being created */
			continue;
		}
		segs[n] = mmap(NULL, SHM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			       fd, 0);
		close(fd);
		if (segs[n] != MAP_FAILED)
			n++;
	}
	closedir(dir);
	return n;
}

/* A random word that is in use. */
static uint32_t *some_word(struct shm_seg *seg)
{
	switch (roll_dice(8)) {
	case 0:
		return (uint32_t *)seg + roll_dice(offsetof(struct shm_seg, qp) / 4);
	case 1:
		return (uint32_t *)seg->qp + roll_dice(sizeof(*seg->qp) / 4);
	case 2:
		return (uint32_t *)seg->cq + roll_dice(sizeof(*seg->cq) / 4);
	case 3:
		return (uint32_t *)seg->mr + roll_dice(2 * sizeof(*seg->mr) / 4);
	case 4:
		return (uint32_t *)&seg->job[0] + roll_dice(offsetof(struct shm_job, bytes) / 4);
	case 5: /* entries and requests */
		return (uint32_t *)seg->heap + roll_dice(8192 / 4);
	default:
		return (uint32_t *)seg->heap + roll_dice((32 << 10) / 4);
	}
}

static uint32_t some_value(uint32_t old)
{
	switch (roll_dice(6)) {
	case 0:
		return 0;
	case 1:
		return UINT32_MAX;
	case 2:
		return old + 1 - roll_dice(3);
	case 3:
		return old ^ 1u << roll_dice(32);
	case 4:
		return roll_dice(64);
	default:
		return dice >> 20;
	}
}

static void spoil_segment(struct shm_seg *seg)
{
	uint32_t *word = some_word(seg);

	__atomic_store_n(word, some_value(*word), __ATOMIC_RELAXED);
}

static bool is_gone(pid_t *pid)
{
	int status;

	if (!*pid)
		return true;
	if (waitpid(*pid, &status, WNOHANG) != *pid)
		return false;
	*pid = 0;
	if (WIFSIGNALED(status))
		fail_msg("killed by signal %d", WTERMSIG(status));
	assert_int_equal(status, 0);
	return true;
}

static void spoil_until_gone(pid_t a, pid_t b)
{
	struct shm_seg *segs[SEGMENTS];
	int i, n = map_segments(segs), gap = roll_dice(200);
	bool gone_a = false, gone_b = false;

	while (!gone_a || !gone_b) {
		gone_a = is_gone(&a);
		gone_b = is_gone(&b);
		if (n)
			spoil_segment(segs[roll_dice(n)]);
		if (gap)
			usleep(gap);
	}
	for (i = 0; i < n; i++)
		munmap(segs[i], SHM_SIZE);
}

static int seed_setup(void **state)
{
	long seed = number_from_env("SEED", time(NULL));

	print_message("SEED=%ld\n", seed);
	dice = seed * 0x9e3779b97f4a7c15ull | 1;
	return fabric_setup(state);
}

GROUP(seed_setup, fabric_teardown);

/* A poll at the same time would read neither the old nor the new value. */
TEST(our_ring_is_not_moved_by_others)
{
	struct pair *p;
	struct shm_cq *cq;

	pair_setup(state);
	p = *state;
	cq = &segment_own->cq[p->a.cq->handle];
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 1, 8, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	cq->size = 1;
	cq->rings++;
	assert_int_equal(
		rdma_at(&p->a, IBV_WR_RDMA_WRITE, 2, 8, (uintptr_t)p->b.buf, p->b.mr->rkey), 0);
	expect_wc(p->a.cq, 1, IBV_WC_SUCCESS);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	pair_teardown(state);
}

TEST(overwritten_segments_are_errors_only)
{
#ifdef __SANITIZE_THREAD__
	print_message("overwritten words make requests share buffers: a race in the data\n");
	skip();
#endif
	long rounds = number_from_env("ROUNDS", 100), n;
	double end = now_seconds() + number_from_env("SECONDS", 0);
	pid_t pids[2];
	int fds[2], i;

	/* so that no process writes to another's memory directly */
	setenv("VERBATIM_SOFT_VM", "off", 1);
	for (n = 0; n < rounds || now_seconds() < end; n++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		for (i = 0; i < 2; i++) {
			roll_dice(2);
			pids[i] = fork();
			if (!pids[i]) {
				close(fds[!i]);
				take_part(fds[i]);
			}
		}
		close(fds[0]);
		close(fds[1]);
		usleep(roll_dice(20000)); /* it may be overwritten at any time */
		spoil_until_gone(pids[0], pids[1]);
	}
	unsetenv("VERBATIM_SOFT_VM");
	print_message("%ld rounds\n", n);
	ibv_close_device(open_context()); /* sweeps, if necessary */
}

static void path_of(char path[PATH], const char *name)
{
	snprintf(path, PATH, "%s/%s", fabric_dir, name);
}

static int try_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	int err = errno;

	ibv_free_device_list(list);
	if (!context)
		return err;
	assert_int_equal(ibv_close_device(context), 0);
	return 0;
}

TEST(other_things_are_no_fabric)
{
	char path[PATH];

	path_of(path, "fabric");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_not_equal(try_open(), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(try_open(), ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_not_equal(try_open(), 0);
	unlink(path);
	assert_int_equal(try_open(), 0);
}

/* The garbage belongs to no process, so it is removed. */
TEST(garbage_is_no_fabric)
{
	uint32_t garbage[50000];
	char path[PATH];
	int fd, round;
	size_t i;

	path_of(path, "fabric");
	for (round = 0; round < 20; round++) {
		for (i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++)
			garbage[i] = roll_dice(UINT32_MAX);
		fd = open(path, O_WRONLY | O_CREAT, 0600);
		assert_int_equal(write(fd, garbage, sizeof(garbage)), sizeof(garbage));
		close(fd);
		assert_int_not_equal(try_open(), 0);
		assert_int_equal(try_open(), 0);
	}
}

static void find_segment(char path[PATH])
{
	DIR *dir = opendir(fabric_dir);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, "node.", 5))
			path_of(path, entry->d_name);
	closedir(dir);
}

static void wait_there(struct end *e, int fd, struct address yours)
{
	(void)e;
	(void)yours;
	await_word(fd);
}

typedef void replace_fn(const char *path);

static void by_directory(const char *path)
{
	mkdir(path, 0700);
}

static void by_link(const char *path)
{
	assert_int_equal(symlink("/etc/passwd", path), 0);
}

static void by_pipe(const char *path)
{
	mkfifo(path, 0600);
}

static void by_short_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_int_equal(write(fd, "short", 5), 5);
	close(fd);
}

static void by_zeros(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_int_equal(ftruncate(fd, SHM_SIZE), 0);
	close(fd);
}

/* No process responds there. */
TEST(other_things_are_no_segment)
{
	static replace_fn *const ways[] = { by_directory, by_link, by_pipe, by_short_file,
					    by_zeros };
	char path[PATH], away[PATH + 8];
	struct fellow f;
	struct end e;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		f = fellow_start(wait_there);
		find_segment(path);
		snprintf(away, sizeof(away), "%s.away", path);
		memset(&e, 0, sizeof(e));
		end_open(&e);
		assert_int_equal(rename(path, away), 0);
		ways[i](path);
		fellow_meet(&f, &e);
		assert_int_equal(send_at(&e, 1, 0, 8), 0);
		expect_wc(e.cq, 1, IBV_WC_RETRY_EXC_ERR);
		remove(path);
		assert_int_equal(rename(away, path), 0);
		assert_int_equal(fellow_stop(&f), 0);
		end_close(&e);
	}
}

TEST(garbage_in_pipes_is_stepped_over)
{
	struct dirent *entry;
	struct end e = { 0 };
	struct ibv_cq *cq;
	char path[PATH];
	void *context;
	DIR *dir;
	int fd;

	end_open(&e);
	dir = opendir(fabric_dir);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "pipe.", 5))
			continue;
		path_of(path, entry->d_name);
		fd = open(path, O_WRONLY | O_NONBLOCK);
		assert_int_equal(write(fd, "garbage of 29 bytes is this..", 29), 29);
		close(fd);
	}
	closedir(dir);
	connect_to(e.qp, e.qp->qp_num);
	assert_int_equal(ibv_req_notify_cq(e.cq, 0), 0);
	assert_int_equal(recv_at(&e, 1, 0, 8), 0);
	assert_int_equal(send_at(&e, 2, 0, 8), 0);
	assert_int_equal(ibv_get_cq_event(e.channel, &cq, &context), 0);
	assert_ptr_equal(cq, e.cq);
	ibv_ack_cq_events(cq, 1);
	end_close(&e);
}
