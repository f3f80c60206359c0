#pragma once
/*
 * Starting the program. One thread.
 */
#include <limits.h>
#include <signal.h>
#include <sys/types.h>

/* The file that execvp(3) would start for @program. Returns 0, -ENOENT or -EACCES. */
int launch_find(const char *program, char found[PATH_MAX]);

/*
 * Can @program be started, as execvp(3) would look for it? Returns 0; or
 * -ENOENT or -EACCES after one line.
 */
int launch_check(const char *program);

/*
 * Ignore SIGPIPE and SIGXFSZ from here on: a write fails instead of killing us.
 * A program that is launched has both signals as we had them.
 */
void launch_guard(void);

/*
 * Start @argv[0] with @mask as its signal mask and all else as we have it.
 * Returns 0 and its pid; or the status to exit with, after one line.
 */
int launch_program(char **argv, const sigset_t *mask, pid_t *ret_pid);

/* A program's process that waits before exec: its pid is known. */
struct launch_held {
	pid_t pid;
	int go, report;
};

/* Make a process for @argv, which stays as it is. 0 or CLI_ENVIRONMENT after one line. */
int launch_hold(char **argv, struct launch_held *ret_held);

/* Let it become the program, with @mask and our environment as it is now; as launch_program(). */
int launch_release(struct launch_held *held, const sigset_t *mask);

/* It ends instead. Accepts one that is zeroed, or was released. */
void launch_drop(struct launch_held *held);

/* The exit status of a shell for a program that could not be started. */
int launch_failure(int err);

/* The exit status of a shell for what waitpid() gave. */
int launch_status(int status);
