/*
 * Children of all kinds do no harm while traffic flows
 */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/shim/soft/fellow.h"
#include "tests/test.h"

extern char **environ;

enum { CHILDREN = 20 };

static void echo_messages(struct end *e, int fd, struct address yours)
{
	(void)yours;
	for (;;) {
		char word;

		assert_int_equal(recv_at(e, 1, 0, 1000), 0);
		say_bytes(fd, "r", 1);
		if (read(fd, &word, 1) != 1 || word == 'q')
			return;
		expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	}
}

struct given {
	struct end e;
	struct fellow f;
	bool stop;
	unsigned int sent, wrong;
	pthread_t thread;
};

/* Asserts jump, so the thread only counts. It sends at least once, however late it runs. */
static void *send_on(void *arg)
{
	struct given *g = arg;
	struct ibv_wc wc;
	char word;

	do {
		g->wrong += read(g->f.fd, &word, 1) != 1;
		g->wrong += send_at(&g->e, 1, 0, 1000) != 0;
		while (!ibv_poll_cq(g->e.cq, 1, &wc))
			sched_yield();
		g->wrong += wc.status != IBV_WC_SUCCESS;
		g->wrong += write(g->f.fd, "n", 1) != 1;
		g->sent++;
	} while (!__atomic_load_n(&g->stop, __ATOMIC_RELAXED));
	return NULL;
}

static int set_up(void **state)
{
	struct fellow f = fellow_start(echo_messages); /* a program that inherits nothing */
	struct given *g = calloc(1, sizeof(*g));

	g->f = f;
	end_open(&g->e);
	fellow_meet(&g->f, &g->e);
	pthread_create(&g->thread, NULL, send_on, g);
	*state = g;
	return 0;
}

static int tear_down(void **state)
{
	struct given *g = *state;

	__atomic_store_n(&g->stop, true, __ATOMIC_RELAXED);
	pthread_join(g->thread, NULL);
	assert_int_equal(g->wrong, 0);
	assert_true(g->sent > 0);
	await_word(g->f.fd);
	say_bytes(g->f.fd, "q", 1);
	assert_int_equal(fellow_stop(&g->f), 0);
	end_close(&g->e);
	free(g);
	return 0;
}

static int use_device(void)
{
	struct end own = { 0 };

	setenv("CMOCKA_TEST_ABORT", "1", 1);
	end_open(&own);
	connect_to(own.qp, own.qp->qp_num);
	recv_at(&own, 1, 0, 8);
	send_at(&own, 2, 0, 8);
	poll_one(own.cq);
	poll_one(own.cq);
	end_close(&own);
	return 0;
}

static void expect_exit(pid_t pid, int expected)
{
	int status;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, expected);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(children_use_their_own)
{
	pid_t pid;
	int i;

	for (i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (!pid)
			exit(use_device());
		expect_exit(pid, 0);
	}
}

/* exit() runs destructors, for inherited and for its own objects. */
TEST(children_just_exit)
{
	struct given *g = *state;
	struct ibv_wc wc;
	pid_t pid;
	int i;

	for (i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (!pid) {
			if (i % 2)
				open_context();
			exit(ibv_poll_cq(g->e.cq, 1, &wc) >= 0);
		}
		expect_exit(pid, 0);
	}
}

TEST(grandchildren_use_their_own)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < CHILDREN / 2; i++) {
		pid = fork();
		if (!pid) {
			open_context();
			pid = fork();
			if (!pid)
				_exit(use_device());
			waitpid(pid, &status, 0);
			exit(status);
		}
		expect_exit(pid, 0);
	}
}

/* No handler of fork runs in it. */
TEST(bare_clone_has_nothing)
{
	struct given *g = *state;
	struct ibv_wc wc;
	pid_t pid;
	int i;

#ifdef __SANITIZE_THREAD__
	skip(); /* it must know of each */
#endif
	for (i = 0; i < CHILDREN; i++) {
		pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
		if (!pid)
			_exit(ibv_poll_cq(g->e.cq, 1, &wc) >= 0 || recv_at(&g->e, 1, 0, 1) != EIO ||
			      ibv_destroy_qp(g->e.qp) != EIO ||
			      ibv_close_device(g->e.context) != EIO);
		expect_exit(pid, 0);
	}
}

TEST(programs_are_started)
{
	char *argv[] = { "true", NULL };
	pid_t pid;
	int i;

	for (i = 0; i < CHILDREN; i++) {
		assert_int_equal(posix_spawnp(&pid, "true", NULL, NULL, argv, environ), 0);
		expect_exit(pid, 0);
		pid = vfork();
		if (!pid) {
			execvp("true", argv);
			_exit(1);
		}
		expect_exit(pid, 0);
	}
}

typedef void end_fn(void);

static void by_exit(void)
{
	exit(0);
}
static void by__exit(void)
{
	_exit(0);
}
static void by_abort(void)
{
	signal(SIGABRT, SIG_DFL);
	abort();
}
static void by_signal(void)
{
	raise(SIGTERM);
}
static void by_exec(void)
{
	execlp("true", "true", NULL);
}

/* The next process that joins finds no remains of it. */
TEST_WITH(nothing_is_left_however_one_ends, NULL, NULL)
{
	static end_fn *const ends[] = { by_exit, by__exit, by_abort, by_signal, by_exec };
	struct end e = { 0 };
	size_t i;
	pid_t pid;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		pid = fork();
		if (!pid) {
			end_open(&e);
			ends[i]();
		}
		waitpid(pid, NULL, 0);
		ibv_close_device(open_context());
		assert_int_equal(rmdir(fabric_dir), 0);
		assert_int_equal(mkdir(fabric_dir, 0700), 0);
	}
}

static double processor_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6 + usage.ru_stime.tv_sec +
	       usage.ru_stime.tv_usec / 1e6;
}

static void wait_there(struct end *e, int fd, struct address yours)
{
	(void)e;
	(void)yours;
	await_word(fd);
}

/* Connected, with a helper, armed: and asleep. */
TEST_WITH(idle_costs_nothing, NULL, NULL)
{
	struct end e = { 0 };
	struct fellow f;
	double before;

	setenv("VERBATIM_SOFT_VM", "off", 1);
	f = fellow_start(wait_there);
	end_open(&e);
	fellow_meet(&f, &e);
	assert_int_equal(ibv_req_notify_cq(e.cq, 0), 0);
	before = processor_time();
	usleep(300000);
	assert_true(processor_time() - before < 0.003);
	assert_int_equal(fellow_stop(&f), 0);
	end_close(&e);
	unsetenv("VERBATIM_SOFT_VM");
}
