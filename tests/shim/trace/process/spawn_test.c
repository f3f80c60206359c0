/*
 * Each function that creates a child, executes another program or ends: what the program gets, and
 * which events there are
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/trace/process/process.h"
#include "tests/shim/trace/provider.h"
#include "tests/test.h"

#define SHELL "/bin/sh"

enum { STACK = 64 << 10, STATUS = 23 };

extern char **environ;

/* Ends with STATUS if all words and the variable arrive. */
static const char script[] = "test \"$0.$1.$#.$WORD\" = zero.one.1.yes && exit 23; exit 1";
static char *const words[] = { (char *)"sh",   (char *)"-c",  (char *)(uintptr_t)script,
			       (char *)"zero", (char *)"one", NULL };
static char *const variables[] = { (char *)"WORD=yes", (char *)"PATH=/usr/bin:/bin", NULL };

static char stack[STACK] __attribute__((aligned(16)));
static pid_t parent_tid;
static struct ring ring;

/* A function under test: it returns the child, or -1 with errno, and not in the child. */
struct way {
	const char *name;
	pid_t (*begin)(const char *program);
	int how;    /* enum event_fork_how */
	bool fails; /* in this process: the program does not exist */
};

static pid_t call_fork(const char *program)
{
	pid_t pid = fork();

	(void)program;
	if (!pid)
		_exit(STATUS);
	return pid;
}

static pid_t call_bare_fork(const char *program)
{
	pid_t pid = _Fork();

	(void)program;
	if (!pid)
		_Exit(STATUS);
	return pid;
}

static pid_t call_vfork(const char *program)
{
	pid_t pid = vfork();

	(void)program;
	if (!pid)
		_exit(STATUS);
	return pid;
}

static int end_clone(void *arg)
{
	return arg == stack ? STATUS : 1;
}

static pid_t call_clone(const char *program)
{
	(void)program;
	parent_tid = 0;
	return clone(end_clone, stack + STACK, SIGCHLD | CLONE_PARENT_SETTID, stack, &parent_tid,
		     NULL, NULL);
}

static pid_t call_clone_vfork(const char *program)
{
	(void)program;
	parent_tid = 0;
	return clone(end_clone, stack + STACK,
		     SIGCHLD | CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID, stack, &parent_tid,
		     NULL, NULL);
}

static pid_t spawn_result(pid_t pid, int err)
{
	errno = err;
	return err ? -1 : pid;
}

static pid_t call_posix_spawn(const char *program)
{
	pid_t pid = -5;
	int err = posix_spawn(&pid, program, NULL, NULL, words, variables);

	HOLDS(!err || pid == -5);
	return spawn_result(pid, err);
}

static pid_t call_posix_spawnp(const char *program)
{
	pid_t pid = -5;
	int err = posix_spawnp(&pid, strrchr(program, '/') + 1, NULL, NULL, words, variables);

	HOLDS(!err || pid == -5);
	return spawn_result(pid, err);
}

/* Execute it in a child, unless it does not exist. */
#define EXECUTE(name, ...)                                       \
	static pid_t call_##name(const char *program)            \
	{                                                        \
		pid_t pid = strcmp(program, SHELL) ? 0 : fork(); \
                                                                 \
		if (pid)                                         \
			return pid;                              \
		name(__VA_ARGS__);                               \
		return -1;                                       \
	}
#define fork()           fork()
#define FILE_OF(program) (strrchr(program, '/') + 1)

static int open_program(const char *program)
{
	return open(strcmp(program, SHELL) ? "/" : program, O_RDONLY | O_CLOEXEC);
}

EXECUTE(execve, program, words, variables)
EXECUTE(execv, program, words)
EXECUTE(execvp, FILE_OF(program), words)
EXECUTE(execvpe, FILE_OF(program), words, variables)
EXECUTE(fexecve, open_program(program), words, variables)
EXECUTE(execveat, AT_FDCWD, program, words, variables, 0)
EXECUTE(execl, program, "sh", "-c", script, "zero", "one", (char *)NULL)
EXECUTE(execlp, FILE_OF(program), "sh", "-c", script, "zero", "one", (char *)NULL)
EXECUTE(execle, program, "sh", "-c", script, "zero", "one", (char *)NULL, variables)

static const struct way ways[] = {
	{ "fork", call_fork, FORK_FORK, false },
	{ "_Fork", call_bare_fork, FORK_FORK, false },
	{ "clone", call_clone, FORK_CLONE, false },
	{ "clone like vfork", call_clone_vfork, FORK_CLONE, false },
	{ "vfork", call_vfork, FORK_VFORK, false },
	{ "posix_spawn", call_posix_spawn, FORK_POSIX_SPAWN, true },
	{ "posix_spawnp", call_posix_spawnp, FORK_POSIX_SPAWN, true },
	{ "execve", call_execve, FORK_EXEC, true },
	{ "execv", call_execv, FORK_EXEC, true },
	{ "execvp", call_execvp, FORK_EXEC, true },
	{ "execvpe", call_execvpe, FORK_EXEC, true },
	{ "fexecve", call_fexecve, FORK_EXEC, true },
	{ "execveat", call_execveat, FORK_EXEC, true },
	{ "execl", call_execl, FORK_EXEC, true },
	{ "execlp", call_execlp, FORK_EXEC, true },
	{ "execle", call_execle, FORK_EXEC, true },
};

/* The events of the last function. */
struct told {
	int forks, spawned, how, error;
	uint32_t seq, its_seq; /* of the fork, and of its result */
	pid_t pid;
};

static struct told read_told(void)
{
	const struct event_head *event;
	struct told told = { 0 };
	int bytes;

	while ((bytes = ring_peek(&ring, &event)) > 0) {
		const struct event_spawned *result = (const void *)event;
		const struct event_fork *made = (const void *)event;

		ring_step(&ring, (size_t)bytes);
		if (event->type == EVENT_FORK) {
			told.forks++;
			told.how = made->how;
			told.seq = made->fork_seq;
		} else if (event->type == EVENT_SPAWNED) {
			told.spawned++;
			told.its_seq = result->fork_seq;
			told.pid = result->pid;
			told.error = result->error;
		}
	}
	HOLDS(bytes == 0);
	ring_consume(&ring);
	return told;
}

static const struct way *way; /* of this test */

/* A child that executes is made by fork(), whose events are in this ring. */
static void see_success(uint32_t before)
{
	pid_t pid = way->begin(SHELL);
	struct told told = read_told();
	int status;

	HOLDS(pid > 0 && waitpid(pid, &status, 0) == pid);
	HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == STATUS);
	HOLDS(told.forks == 1 && told.seq == before + 1);
	HOLDS(told.how == (way->how == FORK_EXEC ? FORK_FORK : way->how));
	HOLDS(way->begin != call_clone || parent_tid == pid);
	HOLDS(way->begin != call_clone_vfork || parent_tid == pid);
	if (way->how == FORK_VFORK)
		return;
	HOLDS(told.spawned == 1 && told.its_seq == told.seq && told.pid == pid && !told.error);
}

static void see_failure(uint32_t before)
{
	struct told told;
	int error;

	errno = 0;
	HOLDS(way->begin("/nothing/there") == -1);
	error = errno;
	told = read_told();
	HOLDS(error == (way->begin == call_fexecve ? EACCES : ENOENT));
	HOLDS(told.forks == 1 && told.seq == before + 1 && told.how == way->how);
	HOLDS(told.spawned == 1 && told.its_seq == told.seq && !told.pid && told.error == error);
}

static void try_way(void)
{
	setenv("WORD", "yes", 1);
	begin_data(1 << 20, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	ring = session_ring(0);
	read_told();
	see_success(0);
	if (way->fails)
		see_failure(1);
	see_success(way->fails ? 2 : 1);
}

static void test_way(void **state)
{
	if (THREAD_SANITIZER)
		skip(); /* it makes vfork() a fork() */
	way = *state;
	in_child(try_way);
}

TEST_ROWS(ways, test_way);

static volatile int thread_ran;
static volatile pid_t thread_tid = 1;

static int run_thread(void *arg)
{
	thread_ran = arg == stack;
	return 0;
}

/* A thread is not a child. The kernel clears its number at its end. */
static void clone_thread(void)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
	struct told told;

	begin_data(1 << 20, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	ring = session_ring(0);
	read_told();
	HOLDS(clone(run_thread, stack + STACK, flags, stack, NULL, NULL, &thread_tid) > 0);
	while (thread_tid)
		sched_yield();
	told = read_told();
	HOLDS(thread_ran && !told.forks && !told.spawned);
}

TEST(a_thread_is_not_reported_as_a_child)
{
	if (THREAD_SANITIZER)
		skip(); /* it does not know threads of clone() */
	in_child(clone_thread);
}

/* system() has no result of its own, popen() if it fails. */
static void run_commands(void)
{
	char line[16] = "";
	struct told told;
	FILE *file;

	begin_data(1 << 20, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	ring = session_ring(0);
	read_told();
	HOLDS(WEXITSTATUS(system("exit 23")) == STATUS);
	told = read_told();
	HOLDS(told.forks == 1 && told.how == FORK_SYSTEM && told.seq == 1 && !told.spawned);
	HOLDS(system(NULL));
	HOLDS(!read_told().forks);
	file = popen("echo word", "r");
	HOLDS(file && fgets(line, sizeof(line), file) && !strcmp(line, "word\n"));
	HOLDS(pclose(file) == 0);
	told = read_told();
	HOLDS(told.forks == 1 && told.how == FORK_POPEN && told.seq == 2 && !told.spawned);
	errno = 0;
	HOLDS(!popen("true", "neither") && errno == EINVAL);
	told = read_told();
	HOLDS(told.forks == 1 && told.spawned == 1 && told.its_seq == 3 && told.error == EINVAL);
}

TEST(commands_are_reported)
{
	in_child(run_commands);
}

static int end_how, end_status;

/* How a child that ends by @end reports that. */
static void see_end(void (*end)(int status), int status)
{
	const struct event_head *event;
	pid_t pid = fork();
	struct ring its;
	int bytes, n = 0;

	if (!pid) {
		send_one(2);
		end(status);
	}
	HOLDS(waitpid(pid, &n, 0) == pid && WEXITSTATUS(n) == status);
	its = session_ring(session_count_rings(&session) - 1);
	for (n = 0; (bytes = ring_peek(&its, &event)) > 0; ring_step(&its, (size_t)bytes))
		if (event->type == EVENT_EXIT) {
			const struct event_exit *told = (const void *)event;

			HOLDS((int)told->how == end_how && told->status == end_status);
			n++;
		}
	HOLDS(n == 1);
	ring_close(&its);
}

static void see_ends(void)
{
	begin_data(1 << 20, ON_FULL_WAIT);
	HOLDS(!send_one(1));
	end_how = EXIT_AT_ONCE;
	end_status = 3;
	see_end(_exit, 3);
	end_status = 4;
	see_end(_Exit, 4);
	end_how = EXIT_EXIT;
	end_status = 5;
	see_end(quick_exit, 5);
	end_status = 6;
	see_end(exit, 6);
}

TEST(ends_are_reported)
{
	in_child(see_ends);
}
