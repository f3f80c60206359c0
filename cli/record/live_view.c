/*
 * `verbatim top` beside a recording
 *
 * It is a separate process: a terminal that is stopped (Ctrl-S), slow or gone must not block the
 * recorder, for which the program would wait.
 */
#include "cli/record/live_view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/wire/log.h"
#include "core/wire/session.h"

#define TERMINAL "/dev/tty"

int live_view_check(void)
{
	int fd;

	if (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO))
		return cli_misuse("record", "--live needs the terminal, but the program writes to "
					    "it: redirect its output (>out 2>err), or run "
					    "`verbatim top` in another terminal");
	fd = open(TERMINAL, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		log_err(-errno, "open the terminal for --live (`verbatim top --batch` does not "
				"need one)");
		return CLI_ENVIRONMENT;
	}
	close(fd);
	return 0;
}

static void run_top(const struct session *session)
{
	int fd = open(TERMINAL, O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (fd >= 0 && dup2(fd, STDIN_FILENO) >= 0 && dup2(fd, STDOUT_FILENO) >= 0)
		execl("/proc/self/exe", "verbatim", "top", session->dir, (char *)NULL);
	log_note("the --live screen cannot be shown; the recording continues");
	_exit(CLI_ENVIRONMENT);
}

pid_t live_view_start(const struct session *session)
{
	pid_t pid = fork();

	if (!pid)
		run_top(session);
	return pid < 0 ? log_err(-errno, "start the screen of --live") : pid;
}

void live_view_wait(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

void live_view_stop(pid_t pid)
{
	if (pid > 0)
		kill(pid, SIGTERM);
	live_view_wait(pid);
}
