/*
 * Starting the program
 *
 * A pipe that exec closes shows whether exec succeeded.
 */
#include "cli/record/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/suggest.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

/*
 * Signal actions of the recorder, and the original ones. If SIGCHLD were ignored, as some daemons'
 * children inherit it, the end of a program would not be noticed, nor its status be known.
 */
static struct {
	int signal;
	void (*action)(int signal);
	struct sigaction before;
} guarded[] = {
	{ .signal = SIGPIPE, .action = SIG_IGN },
	{ .signal = SIGXFSZ, .action = SIG_IGN },
	{ .signal = SIGCHLD, .action = SIG_DFL },
};

enum { GUARDED = sizeof(guarded) / sizeof(*guarded) };

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : -EACCES;
}

/* Like execvp(): a file without permission counts only if no other is found. */
static int search_path(const char *program, const char *path, char found[PATH_MAX])
{
	int err = -ENOENT;

	for (const char *at = path, *end; at; at = end) {
		end = strchr(at, ':');
		snprintf(found, PATH_MAX, "%.*s%s%s", (int)(end ? end - at : (int)strlen(at)), at,
			 *at && *at != ':' ? "/" : "", program);
		end = end ? end + 1 : NULL;
		switch (check_file(found)) {
		case 0:
			return 0;
		case -EACCES:
			err = -EACCES;
		}
	}
	return err;
}

int launch_find(const char *program, char found[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (!*program)
		return -ENOENT;
	if (!strchr(program, '/') && path)
		return search_path(program, path, found);
	snprintf(found, PATH_MAX, "%s", program);
	return strchr(program, '/') ? check_file(program) : 0;
}

int launch_check(const char *program)
{
	char found[PATH_MAX];
	struct suggestion near = { .word = NULL };
	int err = launch_find(program, found);

	if (err == -ENOENT && *program)
		suggest_program(&near, program);
	if (*near.name)
		return log_why(err, "start '%s': %s%s", program, strerror(-err),
			       suggest_text(&near));
	return err ? log_err(err, "start '%s'", program) : 0;
}

void launch_ignore_signals(void)
{
	for (int i = 0; i < GUARDED; i++) {
		const struct sigaction now = { .sa_handler = guarded[i].action };

		sigaction(guarded[i].signal, &now, &guarded[i].before);
	}
}

static _Noreturn void become_program(char **argv, const sigset_t *mask, int report)
{
	int err;

	for (int i = 0; i < GUARDED; i++)
		sigaction(guarded[i].signal, &guarded[i].before, NULL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	err = -errno;
	_exit(write(report, &err, sizeof(err)) < 0 ? CLI_CANNOT_RUN : launch_failure_status(err));
}

int launch_program(char **argv, const sigset_t *mask, pid_t *ret_pid)
{
	int fds[2], err, status = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		log_err(-errno, "make a pipe to start '%s'", argv[0]);
		return CLI_ENVIRONMENT;
	}
	pid = fork();
	if (!pid)
		become_program(argv, mask, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		log_err(-errno, "fork to start '%s'", argv[0]);
		status = CLI_ENVIRONMENT;
	} else if (read(fds[0], &err, sizeof(err)) == sizeof(err)) {
		waitpid(pid, NULL, 0);
		status = launch_failure_status(log_err(err, "start '%s'", argv[0]));
	}
	close(fds[0]);
	if (!status)
		*ret_pid = pid;
	return status;
}

/* The environment of the process that released this one; NULL: it was not released. */
static char **read_environment(int go, sigset_t *mask)
{
	FILE *from = fdopen(go, "re");
	char **all = NULL, *line = NULL;
	size_t n = 0, size = 0;

	if (!from || fread(mask, sizeof(*mask), 1, from) != 1 || !vec_push(all, n))
		return NULL;
	while (getdelim(&line, &size, '\0', from) > 1) {
		if (!vec_push(all, n))
			return NULL;
		all[n - 2] = line;
		line = NULL;
	}
	return all;
}

static _Noreturn void wait_for_release(char **argv, int go, int report)
{
	sigset_t mask;
	char **environment = read_environment(go, &mask);

	if (!environment)
		_exit(0);
	environ = environment;
	become_program(argv, &mask, report);
}

int launch_hold(char **argv, struct launch_held_process *ret_held)
{
	int go[2], report[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return log_err(-errno, "make a pipe to start '%s'", argv[0]), CLI_ENVIRONMENT;
	if (pipe2(report, O_CLOEXEC)) {
		log_err(-errno, "make a pipe to start '%s'", argv[0]);
		close(go[0]);
		close(go[1]);
		return CLI_ENVIRONMENT;
	}
	pid = fork();
	if (!pid) {
		close(go[1]);
		wait_for_release(argv, go[0], report[1]);
	}
	if (pid < 0)
		log_err(-errno, "fork to start '%s'", argv[0]);
	close(go[0]);
	close(report[1]);
	*ret_held = (struct launch_held_process){ pid, go[1], report[0] };
	if (pid > 0)
		return 0;
	launch_drop(ret_held);
	return CLI_ENVIRONMENT;
}

static void write_environment(int go, const sigset_t *mask)
{
	FILE *to = fdopen(go, "we");

	if (!to) {
		close(go);
		return;
	}
	fwrite(mask, sizeof(*mask), 1, to);
	for (char **at = environ; *at; at++)
		fwrite(*at, strlen(*at) + 1, 1, to);
	fputc('\0', to); /* an empty string ends the list */
	fclose(to);
}

int launch_release(struct launch_held_process *held, const sigset_t *mask)
{
	int err, status = 0;

	write_environment(held->go, mask);
	if (read(held->report, &err, sizeof(err)) == sizeof(err)) {
		waitpid(held->pid, NULL, 0);
		status = launch_failure_status(log_err(err, "start the program"));
	}
	close(held->report);
	*held = (struct launch_held_process){ 0 };
	return status;
}

void launch_drop(struct launch_held_process *held)
{
	if (!held->pid)
		return;
	close(held->go);
	close(held->report);
	if (held->pid > 0)
		waitpid(held->pid, NULL, 0);
	*held = (struct launch_held_process){ 0 };
}

int launch_failure_status(int err)
{
	return err == -ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN;
}

int launch_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
