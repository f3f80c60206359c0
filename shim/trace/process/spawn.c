/*
 * The functions with which the program creates a child, executes another program, or ends
 *
 * pthread_atfork() reports every fork(); a function in this file reports its result. This file
 * interposes all other functions; its functions inform process.c and call libc's functions.
 *
 *	fork-like	clone, _Fork: the child has a copy of the memory
 *	vfork-like	vfork, clone: the child runs in this thread's memory until exec; so
 *			vfork(), which returns twice, must be called by a jump
 *	new images	posix_spawn, system, popen; exec, in the process itself
 *	ends		_exit, _Exit, quick_exit; on_exit() reports exit()
 *
 * A child that a bare system call creates is noticed by its changed pid (join.c).
 */
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/trace/base/jump.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/process/process.h"
#include "shim/trace/process/thread.h"
#include "shim/trace/ring/vfork.h"

OURS pid_t fork(void)
{
	pid_t pid = NEXT(fork)();

	if (pid)
		process_write_fork(process_take_announced(), pid > 0 ? pid : 0,
				   pid < 0 ? errno : 0);
	return pid;
}

OURS pid_t _Fork(void)
{
	uint32_t seq = process_fork(FORK_FORK);
	pid_t pid = NEXT(_Fork)();

	if (!pid)
		process_begin_child(seq);
	else
		process_write_fork(seq, pid > 0 ? pid : 0, pid < 0 ? errno : 0);
	return pid;
}

/* clone() */

struct start {
	int (*fn)(void *arg);
	void *arg;
	uint32_t seq;
};

static int child_start(void *arg)
{
	struct start start = *(struct start *)arg;

	process_begin_child(start.seq);
	return start.fn(start.arg);
}

static void share_memory(pid_t pid)
{
	if (vfork_note_sharing(pid))
		thread_end(NULL);
}

OURS int clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...)
{
	struct start start = { fn, arg, 0 };
	pid_t *parent_tid, *child_tid;
	void *tls;
	va_list more;
	int pid;

	va_start(more, arg);
	parent_tid = va_arg(more, pid_t *);
	tls = va_arg(more, void *);
	child_tid = va_arg(more, pid_t *);
	va_end(more);
	if (!(flags & CLONE_THREAD))
		start.seq = process_fork(FORK_CLONE);
	if (!start.seq || flags & CLONE_VM) {
		if (start.seq)
			vfork_begin(start.seq);
		pid = NEXT(clone)(fn, stack, flags, arg, parent_tid, tls, child_tid);
		if (start.seq && pid > 0 && !(flags & (CLONE_VFORK | CLONE_SETTLS)))
			share_memory(pid);
	} else {
		pid = NEXT(clone)(child_start, stack, flags, &start, parent_tid, tls, child_tid);
	}
	process_write_fork(start.seq, pid > 0 ? pid : 0, pid < 0 ? errno : 0);
	return pid;
}

/* vfork() */

#ifdef __x86_64__
void *spawn_vfork(void);

/* Called before a vfork(). Returns libc's vfork(). */
void *spawn_vfork(void)
{
	uint32_t seq = process_fork(FORK_VFORK);

	if (seq)
		vfork_begin(seq);
	return (void *)NEXT(vfork);
}

JUMP_FUNCTION(vfork, "", spawn_vfork, JUMP_THERE);
#endif

/* New programs in a child */

OURS int posix_spawn(pid_t *ret_pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	uint32_t seq = process_fork(FORK_POSIX_SPAWN);
	pid_t pid = 0;
	int err = NEXT(posix_spawn)(&pid, path, actions, attr, argv, envp);

	if (!err && ret_pid)
		*ret_pid = pid;
	process_write_fork(seq, err ? 0 : pid, err);
	return err;
}

OURS int posix_spawnp(pid_t *ret_pid, const char *file, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	uint32_t seq = process_fork(FORK_POSIX_SPAWN);
	pid_t pid = 0;
	int err = NEXT(posix_spawnp)(&pid, file, actions, attr, argv, envp);

	if (!err && ret_pid)
		*ret_pid = pid;
	process_write_fork(seq, err ? 0 : pid, err);
	return err;
}

OURS int system(const char *command)
{
	if (command)
		process_fork(FORK_SYSTEM);
	return NEXT(system)(command);
}

OURS FILE *popen(const char *command, const char *mode)
{
	uint32_t seq = process_fork(FORK_POPEN);
	FILE *file = NEXT(popen)(command, mode);

	if (!file)
		process_write_fork(seq, 0, errno);
	return file;
}

/* Executing another program in this process: libc's function returns only if it failed. */

#define EXEC(name, ...)                                  \
	({                                               \
		uint32_t seq_ = process_fork(FORK_EXEC); \
		int ret_ = NEXT(name)(__VA_ARGS__);      \
		process_write_fork(seq_, 0, errno);      \
		ret_;                                    \
	})

OURS int execve(const char *path, char *const argv[], char *const envp[])
{
	return EXEC(execve, path, argv, envp);
}

OURS int execv(const char *path, char *const argv[])
{
	return EXEC(execv, path, argv);
}

OURS int execvp(const char *file, char *const argv[])
{
	return EXEC(execvp, file, argv);
}

OURS int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return EXEC(execvpe, file, argv, envp);
}

OURS int fexecve(int fd, char *const argv[], char *const envp[])
{
	return EXEC(fexecve, fd, argv, envp);
}

OURS int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return EXEC(execveat, fd, path, argv, envp, flags);
}

/* The number of words from @first to the NULL, including the NULL. */
static size_t count_words(const char *first, va_list words)
{
	va_list at;
	size_t n = 1;

	va_copy(at, words);
	for (const char *word = first; word; word = va_arg(at, const char *))
		n++;
	va_end(at);
	return n;
}

/*
 * The words are copied to the stack, as in libc: execl() may be called after vfork() and in signal
 * handlers.
 */
/* clang-format off */
#define WORDS(first)                                                   \
	va_list words_;                                                \
	va_start(words_, first);                                       \
	char *argv[count_words(first, words_)];                        \
	argv[0] = (char *)(uintptr_t)first;                            \
	for (size_t i_ = 0; argv[i_]; i_++)                            \
		argv[i_ + 1] = va_arg(words_, char *)
/* clang-format on */

OURS int execl(const char *path, const char *arg, ...)
{
	WORDS(arg);
	va_end(words_);
	return execv(path, argv);
}

OURS int execlp(const char *file, const char *arg, ...)
{
	WORDS(arg);
	va_end(words_);
	return execvp(file, argv);
}

OURS int execle(const char *path, const char *arg, ...)
{
	WORDS(arg);
	char **envp = va_arg(words_, char **);

	va_end(words_);
	return execve(path, argv, envp);
}

/* The end of the process */

OURS void _exit(int status)
{
	process_exit(EXIT_AT_ONCE, status);
	NEXT(_exit)(status);
	__builtin_unreachable();
}

OURS void _Exit(int status)
{
	process_exit(EXIT_AT_ONCE, status);
	NEXT(_Exit)(status);
	__builtin_unreachable();
}

OURS void quick_exit(int status)
{
	process_exit(EXIT_EXIT, status);
	NEXT(quick_exit)(status);
	__builtin_unreachable();
}
