/*
 * Processes: fork, vfork, exec, and children that join
 */
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "shim/trace/base/forks.h"
#include "shim/trace/process/process.h"
#include "shim/trace/process/surroundings.h"
#include "shim/trace/stack/stack.h"
#include "shim/trace/verbs/wrappers.h"
#include "tests/shim/trace/provider.h"
#include "tests/test.h"

enum { CHILD_MOST_MS = 40000 };

static void child_body(void)
{
	struct ring ring;
	const struct event_process *process;
	const struct event_spawned *spawned;
	const struct event_head *event;
	pid_t pid;
	int status;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	pid = fork();
	if (!pid) {
		send_one(2);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ring = session_ring(1);
	HOLDS(ring.head->pid == (uint32_t)pid);
	HOLDS(ring_peek(&ring, &event) > 0 && event->type == EVENT_PROCESS);
	process = (const void *)event;
	HOLDS(process->forked_from == (uint32_t)getpid() && process->fork_seq == 1);
	ring_close(&ring);
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
	HOLDS(expect_event(&ring, EVENT_FORK));
	spawned = expect_event(&ring, EVENT_SPAWNED);
	HOLDS(spawned && spawned->fork_seq == 1 && spawned->pid == pid && !spawned->error);
	HOLDS(!expect_event(&ring, EVENT_POST));
}

TEST(forked_child_has_a_ring_of_its_own)
{
	in_child(child_body);
}

static bool has_text(const char *bytes, size_t n, const char *text)
{
	return memmem(bytes, n, text, strlen(text) + 1);
}

static void surroundings_body(void)
{
	const struct rlimit few = { .rlim_cur = 100, .rlim_max = 200 };
	const struct rlimit locked = { .rlim_cur = 1 << 20, .rlim_max = 1 << 21 };
	const struct event_process *process;
	const struct event_head *event;
	struct ring ring;
	const char *text;

	setenv("RDMAV_FORK_SAFE", "1", 1);
	setenv("A_SECRET", "hunter2", 1);
	HOLDS(!setrlimit(RLIMIT_NOFILE, &few) && !setrlimit(RLIMIT_MEMLOCK, &locked));
	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	ring = session_ring(0);
	HOLDS(ring_peek(&ring, &event) > 0 && event->type == EVENT_PROCESS);
	process = (const void *)event;
	text = (const char *)(process + 1) + process->exe_bytes + process->cmd_bytes;
	HOLDS(!strcmp(text, "RDMAV_FORK_SAFE=1") && process->environ_bytes > strlen(text));
	HOLDS(!text[process->environ_bytes - 1]);
	HOLDS(!has_text(text, process->environ_bytes, "A_SECRET=hunter2"));
	HOLDS(process->nofile == 100 && process->nofile_most == 200);
	HOLDS(process->memlock == 1 << 20 && process->memlock_most == 1 << 21);
	HOLDS(process->page_size == (uint32_t)sysconf(_SC_PAGESIZE));
	HOLDS(process->ipc_lock != IPC_LOCK_UNKNOWN);
	ring_close(&ring);
}

TEST(limits_and_variables_of_rdma_libraries_are_recorded)
{
	in_child(surroundings_body);
}

/* Values are cut at 255 bytes; a variable may be longer than what is read at a time. */
TEST(variables_of_any_length_are_read)
{
	enum { LONG = 20000 };
	static const char first[] = "UCX_TLS=rc\0A_SECRET=hunter2\0RDMAV_FORK_SAFE=0\0"
				    "VERBATIM_REPLAY_KEY=hunter2";
	static const char last[] = "FI_PROVIDER=verbs";
	static char text[SURROUNDINGS_BYTES], long_one[LONG] = "NCCL_ALGO=";
	char want[256 + 10];
	size_t used;
	int fds[2];

	memset(long_one + strlen(long_one), 'x', LONG - 1 - strlen(long_one));
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], first, sizeof(first)), sizeof(first));
	assert_int_equal(write(fds[1], long_one, LONG), LONG);
	assert_int_equal(write(fds[1], last, sizeof(last)), sizeof(last));
	close(fds[1]);
	used = surroundings_read(fds[0], text, 0);
	close(fds[0]);
	memcpy(want, long_one, 10 + 255);
	want[10 + 255] = '\0';
	assert_int_equal(used, strlen("UCX_TLS=rc") + 1 + strlen(want) + 1 + sizeof(last));
	assert_string_equal(text, "UCX_TLS=rc");
	assert_string_equal(text + 11, want);
	assert_string_equal(text + 11 + sizeof(want), last);
}

/* The result of surroundings_read() for @bytes, after the @used bytes of @text. */
static size_t read_variables(const char *bytes, size_t n, char *text, size_t used)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], bytes, n), n);
	close(fds[1]);
	used = surroundings_read(fds[0], text, used);
	close(fds[0]);
	return used;
}

TEST(names_of_up_to_63_bytes_are_read)
{
	static char text[SURROUNDINGS_BYTES], name[] = "UCX_IB_";
	char variable[80];

	for (size_t n = 62; n <= 65; n++) {
		memset(variable, 'A', sizeof(variable));
		memcpy(variable, name, strlen(name));
		strcpy(variable + n, "=1");
		assert_int_equal(read_variables(variable, n + 3, text, 0), n <= 63 ? n + 3 : 0);
		if (n <= 63)
			assert_string_equal(text, variable);
	}
	assert_int_equal(read_variables("UCX_TLS", 8, text, 0), 0);
}

TEST(variables_fill_what_there_is_room_for)
{
	static char text[SURROUNDINGS_BYTES + 1];
	static const char variable[] = "UCX_TLS=rc", shorter[] = "UCX_TLS=r";
	size_t n = sizeof(variable);

	text[SURROUNDINGS_BYTES] = '!';
	assert_int_equal(read_variables(variable, n, text, SURROUNDINGS_BYTES - n),
			 SURROUNDINGS_BYTES);
	assert_string_equal(text + SURROUNDINGS_BYTES - n, variable);
	assert_int_equal(read_variables(variable, n, text, SURROUNDINGS_BYTES - n + 1),
			 SURROUNDINGS_BYTES - n + 1);
	assert_int_equal(read_variables(shorter, n - 1, text, SURROUNDINGS_BYTES - n + 1),
			 SURROUNDINGS_BYTES);
	assert_int_equal(text[SURROUNDINGS_BYTES], '!');
}

static void vfork_body(void)
{
	const struct event_fork *fork_event;
	const struct event_blind *blind;
	struct ring ring;
	pid_t pid;
	int status;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	pid = vfork();
	if (!pid) {
		send_one(2);
		send_one(3);
		_exit(0);
	}
	HOLDS(waitpid(pid, &status, 0) == pid);
	HOLDS(!send_one(4));
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
	fork_event = expect_event(&ring, EVENT_FORK);
	HOLDS(fork_event->how == FORK_VFORK && fork_event->nframes > 0);
	blind = expect_event(&ring, EVENT_BLIND);
	HOLDS(blind->what == BLIND_VFORK && blind->object == (uint64_t)pid);
	HOLDS(expect_event(&ring, EVENT_POST) && !expect_event(&ring, EVENT_POST));
	HOLDS(session_count_rings(&session) == 1);
}

TEST(child_of_vfork_is_reported_and_not_recorded)
{
	if (THREAD_SANITIZER)
		skip(); /* it makes vfork() a fork() */
	in_child(vfork_body);
}

static void exec_body(void)
{
	char *argv[] = { (char *)"none", NULL };
	const struct event_spawned *spawned;
	const struct event_fork *event;
	struct ring ring;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	errno = 0;
	HOLDS(execv("/nothing/there", argv) == -1 && errno == ENOENT);
	ring = session_ring(0);
	HOLDS(expect_event(&ring, EVENT_POST));
	event = expect_event(&ring, EVENT_FORK);
	HOLDS(event->how == FORK_EXEC);
	spawned = expect_event(&ring, EVENT_SPAWNED);
	HOLDS(spawned->fork_seq == event->fork_seq && spawned->error == ENOENT);
}

TEST(failed_exec_is_reported)
{
	in_child(exec_body);
}

static atomic_bool stop;

static void *fork_and_send(void *ret_status)
{
	pid_t pid = fork();

	if (!pid) {
		send_one(2);
		_exit(3);
	}
	waitpid(pid, ret_status, 0);
	return NULL;
}

static void quiet_fork_body(void)
{
	const struct event_exit *end;
	struct ring ring;
	pthread_t thread;
	int status = -1;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	HOLDS(!pthread_create(&thread, NULL, fork_and_send, &status));
	pthread_join(thread, NULL);
	HOLDS(WEXITSTATUS(status) == 3);
	ring = session_ring(1);
	HOLDS(ring.head->pid == (uint32_t)getpid() && expect_event(&ring, EVENT_FORK));
	ring_close(&ring);
	ring = session_ring(2);
	HOLDS(ring.head->pid != (uint32_t)getpid() && expect_event(&ring, EVENT_POST));
	end = expect_event(&ring, EVENT_EXIT);
	HOLDS(end && end->how == EXIT_AT_ONCE && end->status == 3);
}

TEST(child_of_a_thread_without_a_ring_is_recorded)
{
	if (THREAD_SANITIZER)
		skip(); /* it has given the thread up when libunwind's destructor takes a lock */
	in_child(quiet_fork_body);
}

/* The status of a child; -1: it hung and was killed. It may have all signals blocked. */
static int status_of_child(pid_t pid)
{
	struct pollfd ends = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status;
	bool ended;

	HOLDS(ends.fd >= 0);
	ended = poll(&ends, 1, CHILD_MOST_MS) == 1;
	if (!ended) {
		dprintf(2, "child %d hangs: it is killed\n", (int)pid);
		kill(pid, SIGKILL);
	}
	close(ends.fd);
	HOLDS(waitpid(pid, &status, 0) == pid);
	return ended ? status : -1;
}

/* Fork @n times while @busy runs in a thread; each child does @verb in time. */
static void fork_beside(int n, void *(*busy)(void *), void (*verb)(void))
{
	pthread_t thread;
	int status = 0;

	stop = false;
	HOLDS(!pthread_create(&thread, NULL, busy, NULL));
	for (int i = 0; i < n && !status; i++) {
		pid_t pid = fork();

		if (!pid) {
			verb();
			_exit(0);
		}
		status = status_of_child(pid);
	}
	stop = true;
	pthread_join(thread, NULL);
	HOLDS(status == 0);
}

static void *take_stacks(void *unused)
{
	struct stack stack;

	send_one(1);
	while (!stop)
		stack_take(&stack);
	return unused;
}

static void take_stack(void)
{
	struct stack stack;

	stack_take(&stack);
	HOLDS(stack.nframes > 1);
}

static void unwinding_body(void)
{
	begin_data(RING_MIN, ON_FULL_DROP);
	HOLDS(!send_one(1));
	fork_beside(300, take_stacks, take_stack);
}

TEST(a_child_of_a_thread_that_unwinds_unwinds)
{
	in_child(unwinding_body);
}

static void *patch_contexts(void *unused)
{
	struct ibv_context other;

	while (!stop) {
		memset(&other, 0, sizeof(other));
		wrappers_patch(&other);
	}
	return unused;
}

static void patch_once(void)
{
	struct ibv_context other = { 0 };

	wrappers_patch(&other);
}

static void context_lock_body(void)
{
	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	fork_beside(300, patch_contexts, patch_once);
}

TEST(fork_waits_until_contexts_are_patched)
{
	in_child(context_lock_body);
}

static void *send_first(void *unused)
{
	send_one(1);
	while (!stop)
		sched_yield();
	return unused;
}

static void send_second(void)
{
	send_one(2);
}

static void joining_body(void)
{
	begin_data(RING_MIN, ON_FULL_WAIT);
	fork_beside(4, send_first, send_second);
}

TEST(child_of_a_process_about_to_join_joins)
{
	if (THREAD_SANITIZER)
		skip(); /* it takes a lock of its own in dlopen(), which another thread had */
	for (int i = 0; i < 100; i++)
		in_child(joining_body);
}

static int wait_in_loader(struct dl_phdr_info *info, size_t size, void *inside)
{
	(void)info, (void)size;
	*(atomic_bool *)inside = true;
	while (!stop)
		usleep(1000);
	return 1;
}

static void *hold_loader(void *inside)
{
	forks_hold();
	dl_iterate_phdr(wait_in_loader, inside);
	forks_release();
	return NULL;
}

/* The lock of dl_iterate_phdr() stays locked in the child. */
static void torn_fork_body(void)
{
	atomic_bool inside = false;
	pthread_t thread;
	int status;
	pid_t pid;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!pthread_create(&thread, NULL, hold_loader, &inside));
	while (!inside)
		sched_yield();
	pid = fork();
	if (!pid) {
		send_one(1);
		_exit(send_one(2));
	}
	status = status_of_child(pid);
	stop = true;
	pthread_join(thread, NULL);
	HOLDS(status == 0);
	HOLDS(session_count_rings(&session) == 0 && atomic_load(&session.page->ringless) == 1);
	pid = fork();
	if (!pid)
		_exit(send_one(3));
	HOLDS(status_of_child(pid) == 0 && session_count_rings(&session) == 1);
}

TEST(child_that_cannot_use_the_loader_is_counted_and_goes_on)
{
	in_child(torn_fork_body);
}

static void *first_verb(void *barrier)
{
	pthread_barrier_wait(barrier);
	send_one(1);
	return NULL;
}

static void start_together(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++)
		HOLDS(!pthread_create(&threads[i], NULL, first_verb, &barrier));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void child_threads_body(void)
{
	enum { N = 50 };
	const struct event_head *event;
	unsigned int processes = 0;
	struct ring ring;
	int status;

	begin_data(RING_MIN, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	for (int i = 0; i < N; i++) {
		pid_t pid = fork();

		if (!pid) {
			start_together();
			_exit(0);
		}
		waitpid(pid, &status, 0);
		HOLDS(status == 0);
	}
	HOLDS(session_count_rings(&session) <= 1 + 2 * N);
	for (uint32_t i = 1; i < session_count_rings(&session); i++) {
		ring = session_ring(i);
		processes += ring_peek(&ring, &event) > 0 && event->type == EVENT_PROCESS;
		ring_close(&ring);
	}
	HOLDS(processes == N);
}

TEST(threads_of_a_child_make_one_process)
{
	in_child(child_threads_body);
}
