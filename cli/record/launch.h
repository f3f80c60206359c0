#pragma once
/*
 * Starting the program. Not thread-safe.
 */
#include <limits.h>
#include <signal.h>
#include <sys/types.h>

/* The file that execvp(3) would execute for @program. Returns 0, -ENOENT or -EACCES. */
int launch_find(const char *program, char found[PATH_MAX]);

/* Could execvp(3) start @program? Returns 0; or -ENOENT or -EACCES after one line. */
int launch_check(const char *program);

/*
 * Ignore SIGPIPE and SIGXFSZ from here on, so that a write fails instead of killing the recorder,
 * and do not ignore SIGCHLD, so that programs can be waited for. A launched program gets the
 * original dispositions.
 */
void launch_ignore_signals(void);

/*
 * Start @argv[0] with @mask as its signal mask and everything else inherited. Returns 0 and its
 * pid; or the exit status, after one line.
 */
int launch_program(char **argv, const sigset_t *mask, pid_t *ret_pid);

/* A process of the program that waits before exec, so that its pid is known. */
struct launch_held_process {
	pid_t pid;
	int go, report;
};

/* Create a process for @argv, which must stay valid. 0 or CLI_ENVIRONMENT after one line. */
int launch_hold(char **argv, struct launch_held_process *ret_held);

/*
 * Let the held process execute the program, with @mask and the current environment; as
 * launch_program().
 */
int launch_release(struct launch_held_process *held, const sigset_t *mask);

/* End the held process instead. Accepts a zeroed or released one. */
void launch_drop(struct launch_held_process *held);

/* The status a shell would return for a program that could not be started. */
int launch_failure_status(int err);

/* The status a shell would return for a status of waitpid(). */
int launch_status(int status);
