/*
 * A pager between standard output and the terminal
 *
 * It is started when there is more output than the terminal has rows; until then cli/screen.c holds
 * the output back. From then on the pager owns the terminal, and our output is a pipe to it. The
 * reader may quit it at any time: our next write then raises SIGPIPE. However we end, we wait for
 * the pager first: the shell must not get the terminal back while the pager reads it.
 */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/screen.h"

enum { PATH_LENGTH = 4096 };

static pid_t pager;     /* 0: there is no pager */
static int errors = -1; /* the original standard error; -1: not replaced */

/* Is the program in PATH, or at the path in its name? */
static bool find_program(const char *name, size_t n)
{
	const char *path = getenv("PATH");
	char file[PATH_LENGTH];

	if (memchr(name, '/', n)) {
		snprintf(file, sizeof(file), "%.*s", (int)n, name);
		return !access(file, X_OK);
	}
	for (size_t length; path && *path; path += length + !!path[length]) {
		length = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%.*s", (int)length, path, (int)n, name);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* The command of the pager; NULL: none is wanted, or it does not exist. */
static const char *find_pager(void)
{
	const char *command = getenv("VERBATIM_PAGER") ?: getenv("PAGER");
	const char *terminal = getenv("TERM");
	size_t n;

	if (!isatty(STDOUT_FILENO) || !terminal || !strcmp(terminal, "dumb"))
		return NULL;
	if (!command)
		command = "less";
	command += strspn(command, " ");
	n = strcspn(command, " ");
	return n && strcmp(command, "cat") && find_program(command, n) ? command : NULL;
}

/* Async-signal-safe. */
static void wait_for_pager(void)
{
	close(STDOUT_FILENO);
	if (errors >= 0)
		dup2(errors, STDERR_FILENO);
	while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
		;
}

static void end_by_signal(int signal)
{
	wait_for_pager();
	_exit(signal == SIGPIPE ? 0 : 128 + signal);
}

static void catch_signals(void)
{
	static const int signals[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = end_by_signal };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

/* Returns its process, or 0. */
static pid_t spawn_pager(const char *command, int input)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	posix_spawn_file_actions_t actions;
	pid_t child;
	int err;

	/* -F quit if the output fits, -R colours, -X leave the text on the screen */
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	err = posix_spawn(&child, "/bin/sh", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err ? 0 : child;
}

/* Called when there is more than a screen. */
static void open_pager(void)
{
	const char *command = find_pager();
	int ends[2];

	if (!command || pipe2(ends, O_CLOEXEC))
		return;
	pager = spawn_pager(command, ends[0]);
	close(ends[0]);
	if (pager) {
		catch_signals();
		if (isatty(STDERR_FILENO)) {
			errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
			dup2(ends[1], STDERR_FILENO);
		}
		dup2(ends[1], STDOUT_FILENO);
	}
	close(ends[1]);
}

static void end_without_pager(int number)
{
	screen_end_by_signal();
	signal(number, SIG_DFL);
	raise(number);
}

void pager_offer(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = end_without_pager }, before;

	if (!find_pager())
		return;
	screen_hold(STDOUT_FILENO, open_pager);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

void pager_cancel(void)
{
	screen_hold(STDOUT_FILENO, NULL);
}

void pager_close(void)
{
	if (!pager)
		return;
	wait_for_pager();
	pager = 0;
}
