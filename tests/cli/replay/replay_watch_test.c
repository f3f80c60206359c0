/* The output of a replay on a terminal. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/replay/replay_watch.h"
#include "replay/report/outcome.h"
#include "tests/test.h"

/* Standard error becomes a terminal: returns its other end. */
static int open_terminal(void)
{
	int ours = posix_openpt(O_RDWR | O_NOCTTY), theirs;

	assert_true(ours >= 0);
	assert_int_equal(grantpt(ours), 0);
	assert_int_equal(unlockpt(ours), 0);
	theirs = open(ptsname(ours), O_RDWR | O_NOCTTY);
	assert_true(theirs >= 0);
	assert_int_equal(dup2(theirs, STDERR_FILENO), STDERR_FILENO);
	close(theirs);
	return ours;
}

/* Read from @terminal until it has printed both texts. */
static void await_texts(int terminal, const char *wanted, const char *also)
{
	char text[4096] = "";
	size_t n = 0;
	ssize_t more;

	while (!strstr(text, wanted) || !strstr(text, also)) {
		more = read(terminal, text + n, sizeof(text) - 1 - n);
		assert_true(more > 0);
		n += (size_t)more;
		text[n] = '\0';
	}
}

TEST(compiling_is_told_apart_from_replaying)
{
	int saved = dup(STDERR_FILENO), terminal = open_terminal();
	struct replay_watch set = { .total = 1000000000 };
	bool late;

	(void)state;
	assert_int_equal(outcome_new(&set.outcome), 0);
	assert_int_equal(replay_watch_start(&set), 0);
	outcome_count(set.outcome, OUTCOME_COMPILED, 5678);
	await_texts(terminal, "replay: compiling 5,678 of ", "1,000,000,000 events");
	outcome_set_compiled(set.outcome);
	outcome_count(set.outcome, OUTCOME_SEEN, 999999999);
	/* one event of so many takes no longer, however busy the machine is */
	await_texts(terminal, "replay: 999,999,999 of 1,000,000,000 events, ", " ns left");
	assert_int_equal(replay_watch_stop(&late), 0);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(terminal);
	outcome_free(set.outcome);
}

/* Waiting for a debugger, with standard input a pipe */

struct hold {
	int from, to, saved; /* the pipe, and standard input before */
	pid_t tid;
	bool over;
};

static void begin_hold(struct hold *hold)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	hold->saved = dup(STDIN_FILENO);
	hold->from = dup2(fds[0], STDIN_FILENO);
	close(fds[0]);
	hold->to = fds[1];
	hold->over = false;
	hold->tid = gettid();
}

static void end_hold(const struct hold *hold)
{
	dup2(hold->saved, STDIN_FILENO);
	close(hold->saved);
}

/* Does the thread sleep in a call of the kernel, or is it past the hold? */
static bool is_idle(const struct hold *hold)
{
	char path[64], text[512] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)hold->tid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	state = strrchr(text, ')');
	return __atomic_load_n(&hold->over, __ATOMIC_ACQUIRE) || (state && state[2] == 'S');
}

static int count_unread(const struct hold *hold)
{
	int n = 0;

	assert_int_equal(ioctl(hold->to, FIONREAD, &n), 0);
	return n;
}

/* The thread has processed everything, and waits again. */
static void await_idle(const struct hold *hold)
{
	while (count_unread(hold) || !is_idle(hold))
		sched_yield();
}

/* No Enter, in one piece or in two, and then one in the middle. */
static void *type_lines(void *arg)
{
	struct hold *hold = arg;

	await_idle(hold);
	assert_false(hold->over);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(write(hold->to, "continue", 8), 8);
		await_idle(hold);
		assert_false(hold->over);
	}
	assert_int_equal(write(hold->to, "a\nb", 3), 3);
	return NULL;
}

/* The end of the input, which does not count, and then a signal, which ends only the hold. */
static void *end_input(void *arg)
{
	struct hold *hold = arg;

	close(hold->to);
	while (!is_idle(hold))
		sched_yield();
	assert_false(hold->over);
	kill(getpid(), SIGTERM);
	return NULL;
}

static void hold_with(void *(*type)(void *))
{
	struct replay_watch set = { .total = 1 };
	struct hold hold;
	pthread_t thread;
	bool late;

	assert_int_equal(outcome_new(&set.outcome), 0);
	assert_int_equal(replay_watch_start(&set), 0);
	begin_hold(&hold);
	assert_int_equal(pthread_create(&thread, NULL, type, &hold), 0);
	replay_watch_hold();
	__atomic_store_n(&hold.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	end_hold(&hold);
	assert_int_equal(replay_watch_stop(&late), 0);
	assert_false(late);
	outcome_free(set.outcome);
}

TEST(enter_ends_the_hold)
{
	hold_with(type_lines);
}

TEST(a_signal_ends_the_hold_and_not_the_replay)
{
	hold_with(end_input);
}
