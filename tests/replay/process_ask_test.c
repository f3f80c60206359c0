/*
 * replay/process/process_ask.c: real processes, forked as recorded ones were, and how they end
 *
 *	1 --- 2 --- 4
 *	  \-- 3		5
 *
 * Threads 1 to 5 are the first of these processes, and thread 6 is another one of process 1.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "core/wire/log.h"
#include "replay/process/process_ask.h"
#include "tests/test.h"

enum { PROCESSES = 6, THREADS = 7, TEXT = 160 };

static struct process processes[PROCESSES] = { [2].parent = 1, [3].parent = 1, [4].parent = 2 };
static struct thread threads[THREADS];
static struct process_ask *ask;

/* In memory of all processes: which of them ran their exit handlers. */
static struct shared {
	int exits[PROCESSES];
	int nexits;
	char bytes[32];
} * shared;
static char private[32] = "before";
static int test_pid;
static char events[TEXT];

const struct process *trace_process(const struct trace *trace, uint32_t i)
{
	(void)trace;
	return i && i < PROCESSES ? &processes[i] : NULL;
}

const struct thread *trace_thread(struct trace *trace, uint32_t i)
{
	(void)trace;
	return i && i < THREADS ? &threads[i] : NULL;
}

static void add_event(const char *text)
{
	snprintf(events + strlen(events), TEXT - strlen(events), "%s; ", text);
}

static void note_lost(uint32_t process, const char *how)
{
	char text[TEXT];

	snprintf(text, sizeof(text), "%u %s", process, how);
	add_event(text);
}

static void note_forked(uint32_t child, uint32_t parent)
{
	char text[TEXT];

	snprintf(text, sizeof(text), "%u of %u", child, parent);
	add_event(text);
}

static const struct process_callbacks told = { note_lost, note_forked };

static void note_exit(void)
{
	if (getpid() != test_pid)
		shared->exits[shared->nexits++] = getpid();
}

static int share_memory(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	test_pid = getpid();
	for (uint32_t i = 1; i < THREADS; i++)
		threads[i] = (struct thread){ .id = i, .process = i < PROCESSES ? i : 1 };
	return shared == MAP_FAILED || atexit(note_exit);
}

GROUP(share_memory, NULL);

static int begin_processes(void **state)
{
	(void)state;
	memset(shared, 0, sizeof(*shared));
	*events = '\0';
	return process_ask_new(NULL, &told, &ask);
}

static int end_processes(void **state)
{
	(void)state;
	process_ask_free(ask);
	ask = NULL;
	return waitpid(-1, NULL, WNOHANG) != -1;
}

FIXTURE(begin_processes, end_processes);

/* The process that was forked last from @parent. */
static int last_child(uint32_t parent)
{
	return (int)process_ask_channel(ask, parent, 0)->ret;
}

static int parent_pid(int pid)
{
	char path[32], text[256] = "";
	int parent = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fgets(text, sizeof(text), file))
		sscanf(strrchr(text, ')'), ") %*c %d", &parent);
	fclose(file);
	return parent;
}

static bool is_gone(int pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/* Start @process, forked from @parent. Returns its pid. */
static int start_process(uint32_t process, uint32_t parent)
{
	assert_null(process_ask_why_not(ask, process));
	return last_child(parent);
}

static int copy_private(struct channel *c, enum process_command command, void *address,
			const void *here)
{
	c->args[0] = (uintptr_t)address;
	c->args[1] = sizeof(private);
	c->args[2] = (uintptr_t)c->room;
	if (here)
		memcpy(c->room, here, sizeof(private));
	return process_ask(ask, c, command);
}

/* What a process has in its own copy of private[]. */
static const char *read_private(struct channel *c)
{
	assert_int_equal(copy_private(c, PROCESS_READ, private, NULL), 0);
	return c->room;
}

static void write_private(struct channel *c, const char *text)
{
	char bytes[sizeof(private)] = "";

	snprintf(bytes, sizeof(bytes), "%s", text);
	assert_int_equal(copy_private(c, PROCESS_WRITE, private, bytes), 0);
}

TEST(a_process_is_forked_from_its_parent)
{
	int first, second, fourth;

	(void)state;
	assert_false(process_ask_runs(ask, 1));
	first = start_process(1, 0);
	assert_true(process_ask_runs(ask, 1));
	assert_false(process_ask_runs(ask, 2));
	second = start_process(2, 1);
	fourth = start_process(4, 2);
	assert_int_equal(parent_pid(parent_pid(first)), test_pid);
	assert_int_equal(parent_pid(second), first);
	assert_int_equal(parent_pid(fourth), second);
	assert_string_equal(events, "2 of 1; 4 of 2; ");
	start_process(4, 2); /* process 2, which is running, forks process 4 */
	assert_string_equal(events, "2 of 1; 4 of 2; ");
}

TEST(a_process_without_its_parent_is_a_root)
{
	int fourth, fifth;

	(void)state;
	processes[5].parent = 5;
	fourth = start_process(4, 0);
	fifth = start_process(5, 0);
	processes[5].parent = 0;
	assert_int_equal(parent_pid(fourth), parent_pid(fifth));
	assert_string_equal(events, "");
	assert_true(process_ask_descends(ask, 5, 5));
	assert_false(process_ask_descends(ask, 4, 2));
}

TEST(only_recorded_processes_are_started)
{
	(void)state;
	assert_string_equal(process_ask_why_not(ask, PROCESSES), "its process is not in the trace");
	process_ask_fork(ask, PROCESSES, 0);
	process_ask_fork(ask, 0, 0);
	assert_false(process_ask_runs(ask, PROCESSES));
	assert_true(process_ask_runs(ask, 0));
	process_ask_end(ask, PROCESSES, PROCESS_EXIT);
	process_ask_end(ask, 1, PROCESS_EXIT); /* process 1 is not running */
	assert_null(process_ask_why_not(ask, 1));
}

TEST(descendants_are_those_forked_from_it)
{
	static const char *const of[] = { "", "1....", "12...", "1.3..", "12.4.", "....5" };

	(void)state;
	for (uint32_t i = 1; i < PROCESSES; i++)
		assert_null(process_ask_why_not(ask, i));
	for (uint32_t i = 1; i < PROCESSES; i++)
		for (uint32_t k = 1; k < PROCESSES; k++)
			assert_int_equal(process_ask_descends(ask, i, k), of[i][k - 1] != '.');
	assert_false(process_ask_descends(ask, 0, 1));
}

TEST(each_process_has_the_memory_of_its_parent_at_that_time)
{
	struct channel *one, *two;

	(void)state;
	start_process(1, 0);
	one = process_ask_channel(ask, 1, 0);
	assert_string_equal(read_private(one), "before");
	write_private(one, "one");
	start_process(2, 1);
	two = process_ask_channel(ask, 2, 0);
	assert_string_equal(read_private(two), "one");
	write_private(two, "two");
	start_process(3, 1);
	assert_string_equal(read_private(process_ask_channel(ask, 3, 0)), "one");
	assert_string_equal(read_private(one), "one");
	assert_string_equal(read_private(two), "two");
	assert_string_equal(private, "before");
}

TEST(threads_of_a_process_have_channels_of_their_own)
{
	struct channel *one, *first, *other;

	(void)state;
	start_process(1, 0);
	one = process_ask_channel(ask, 1, 0);
	first = process_ask_channel(ask, 1, 1);
	other = process_ask_channel(ask, 1, 6);
	assert_ptr_not_equal(one, first);
	assert_ptr_not_equal(one, other);
	assert_ptr_not_equal(first, other);
	assert_ptr_equal(process_ask_channel(ask, 1, 1), first);
	assert_ptr_equal(process_ask_channel(ask, 1, 2), one); /* a thread of another process */
	assert_ptr_equal(process_ask_channel(ask, 1, THREADS), one);
	assert_int_equal(process_ask_of(ask, one), 1);
	assert_int_equal(process_ask_of(ask, first), 1);
	assert_int_equal(process_ask_of(ask, other), 1);
	process_ask_lock(ask, one);
	process_ask_lock(ask, other); /* is not locked */
	write_private(other, "from the other");
	assert_string_equal(read_private(first), "from the other");
	process_ask_unlock(ask, other);
	process_ask_unlock(ask, one);
	process_ask_fork(ask, 2, 6);
	assert_int_not_equal(other->ret, 0);
	assert_int_equal(parent_pid((int)other->ret), last_child(0));
}

TEST(a_thread_does_not_start_in_a_process_that_has_ended)
{
	struct channel *one;

	(void)state;
	start_process(1, 0);
	process_ask_end(ask, 1, PROCESS_EXIT_NOW);
	one = process_ask_channel(ask, 1, 0);
	assert_ptr_equal(process_ask_channel(ask, 1, 6), one);
	assert_int_equal(process_ask_of(ask, one + (PROCESSES - 1) + 6), 0);
}

static void *hold_lock(void *arg)
{
	process_ask_lock(ask, arg);
	add_event("locked again");
	process_ask_unlock(ask, arg);
	return NULL;
}

TEST(one_thread_at_a_time_uses_the_channel_of_a_process)
{
	struct channel *one;
	pthread_t other;

	(void)state;
	start_process(1, 0);
	one = process_ask_channel(ask, 1, 0);
	process_ask_lock(ask, one);
	assert_int_equal(pthread_create(&other, NULL, hold_lock, one), 0);
	for (int i = 0; i < 100; i++)
		read_private(one);
	assert_string_equal(events, "");
	process_ask_unlock(ask, one);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_string_equal(events, "locked again; ");
}

TEST(a_process_ends_as_recorded)
{
	static const enum process_ending endings[] = { PROCESS_EXIT, PROCESS_EXIT_NOW,
						       PROCESS_KILLED };
	int pids[3];

	(void)state;
	pids[0] = start_process(3, 0);
	pids[1] = start_process(4, 0);
	pids[2] = start_process(5, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(is_gone(pids[i]));
		process_ask_end(ask, 3 + i, endings[i]);
		assert_false(process_ask_runs(ask, 3 + i));
		assert_true(is_gone(pids[i]));
		assert_string_equal(process_ask_why_not(ask, 3 + i), "its process has ended");
		assert_int_equal(copy_private(process_ask_channel(ask, 3 + i, 0), PROCESS_READ,
					      private, NULL),
				 -ESRCH);
	}
	assert_int_equal(shared->nexits, 1);
	assert_int_equal(shared->exits[0], pids[0]);
	assert_string_equal(events, "");
}

TEST(a_child_of_a_running_process_is_reaped_by_it)
{
	int second;

	(void)state;
	start_process(1, 0);
	second = start_process(2, 1);
	process_ask_end(ask, 2, PROCESS_KILLED);
	assert_true(is_gone(second));
	assert_string_equal(events, "2 of 1; ");
}

TEST(a_child_survives_its_parent)
{
	int second;

	(void)state;
	start_process(1, 0);
	second = start_process(2, 1);
	process_ask_end(ask, 1, PROCESS_EXIT);
	assert_string_equal(read_private(process_ask_channel(ask, 2, 0)), "before");
	assert_int_equal(parent_pid(second), test_pid); /* the test's process reaps it */
	process_ask_end(ask, 2, PROCESS_EXIT);
	assert_true(is_gone(second));
}

TEST(an_unexpected_end_is_reported_once)
{
	struct channel *two;
	int first, second;

	(void)state;
	first = start_process(1, 0);
	second = start_process(2, 1);
	two = process_ask_channel(ask, 2, 0);
	*events = '\0';
	assert_int_equal(kill(second, SIGUSR1), 0);
	assert_int_equal(copy_private(two, PROCESS_READ, private, NULL), -ESRCH);
	assert_string_equal(events, "2 ended by signal 10 (User defined signal 1); ");
	assert_string_equal(process_ask_why_not(ask, 2),
			    "its process in the replay ended by signal 10 (User defined signal 1)");
	assert_false(process_ask_runs(ask, 2));
	assert_true(is_gone(second));
	assert_int_equal(copy_private(two, PROCESS_READ, private, NULL), -ESRCH);
	process_ask_end(ask, 2, PROCESS_EXIT);
	*events = '\0';
	assert_int_equal(kill(first, SIGKILL), 0);
	process_ask_end(ask, 1, PROCESS_EXIT);
	assert_string_equal(events, "1 ended by signal 9 (Killed); ");
	assert_true(is_gone(first));
}

TEST(a_child_of_a_lost_process_cannot_be_forked)
{
	(void)state;
	assert_int_equal(kill(start_process(1, 0), SIGKILL), 0);
	assert_string_equal(process_ask_why_not(ask, 2), "its parent process has ended");
	assert_string_equal(process_ask_why_not(ask, 2), "its parent process has ended");
	assert_string_equal(events, "1 ended by signal 9 (Killed); ");
	assert_null(process_ask_why_not(ask, 3)); /* its parent is known to have ended */
}

TEST(all_processes_end_with_the_replay)
{
	int first, second, zero;

	(void)state;
	first = start_process(1, 0);
	zero = parent_pid(first);
	second = start_process(2, 1);
	process_ask_free(ask);
	ask = NULL;
	assert_true(is_gone(zero));
	assert_true(is_gone(first));
	assert_true(is_gone(second));
	assert_int_equal(shared->nexits, 0);
	process_ask_free(NULL);
}

/* A replaying process that is killed cannot end them. */
TEST(processes_notice_the_end_of_the_replaying_one)
{
	struct pollfd first = { .events = POLLIN };
	struct process_ask *others;
	int fds[2], pids[2];
	pid_t replaying;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	replaying = fork();
	if (!replaying) {
		test_pid = getpid();
		if (process_ask_new(NULL, &told, &others) || process_ask_why_not(others, 1))
			_exit(1);
		pids[0] = (int)process_ask_channel(others, 0, 0)->ret;
		pids[1] = parent_pid(pids[0]);
		if (write(fds[1], pids, sizeof(pids)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], pids, sizeof(pids)), sizeof(pids));
	first.fd = (int)syscall(SYS_pidfd_open, pids[0], 0);
	assert_true(first.fd >= 0);
	assert_int_equal(poll(&first, 1, 0), 0);
	for (int number = SIGHUP; number <= SIGTERM; number++)
		if (number <= SIGQUIT || number == SIGTERM)
			kill(pids[1], number); /* is left to the replaying process */
	assert_int_equal(poll(&first, 1, 0), 0);
	assert_false(is_gone(pids[1]));
	kill(replaying, SIGKILL);
	assert_int_equal(poll(&first, 1, -1), 1);
	for (int i = 0; i < 3; i++)
		waitpid(-1, NULL, 0);
	close(first.fd);
	close(fds[0]);
	close(fds[1]);
}
