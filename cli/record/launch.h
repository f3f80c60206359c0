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

/* The exit status of a shell for a program that could not be started. */
int launch_failure(int err);

/* The exit status of a shell for what waitpid() gave. */
int launch_status(int status);
