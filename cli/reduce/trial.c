/*
 * Trials in child processes
 *
 * A child has its own process group: a SIGINT at the terminal does not end it, and processes that
 * it has started end with it. It ends when we do.
 */
#include "cli/reduce/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/read_file.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

static void run_child(const struct trial *trial, const char *const *argv, pid_t parent)
{
	int out = open(trial->out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (out < 0 || null < 0 || getppid() != parent)
		_exit(126);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execv("/proc/self/exe", (char *const *)argv);
	_exit(126);
}

int trial_start(struct trial *trial, const char *const *argv, uint64_t ns)
{
	pid_t parent = getpid();

	snprintf(trial->out, sizeof(trial->out), "%s.out", trial->path);
	trial->end = clock_monotonic() + ns;
	fflush(NULL);
	trial->pid = fork();
	if (!trial->pid)
		run_child(trial, argv, parent);
	if (trial->pid < 0) {
		trial->pid = 0;
		return log_err(-errno, "start a trial");
	}
	setpgid(trial->pid, trial->pid);
	return 0;
}

static void kill_trial(struct trial *trial, int *status)
{
	kill(-trial->pid, SIGKILL);
	kill(trial->pid, SIGKILL);
	while (waitpid(trial->pid, status, 0) < 0 && errno == EINTR)
		;
}

int trial_poll(struct trial *trial, struct trial_end *ret_end)
{
	int status = 0, err;
	pid_t ended = waitpid(trial->pid, &status, WNOHANG);

	if (ended < 0 && errno != EINTR)
		return log_err(-errno, "wait for a trial");
	if (ended <= 0 && clock_monotonic() < trial->end)
		return 0;
	if (ended <= 0)
		kill_trial(trial, &status);
	else
		kill(-trial->pid, SIGKILL); /* kills processes that the trial may have left */
	trial->pid = 0;
	*ret_end = (struct trial_end){ 0 };
	ret_end->exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	err = read_file(trial->out, &ret_end->text, &ret_end->bytes);
	unlink(trial->out);
	return err ? log_err(err, "read the result of a trial") : 1;
}

void trial_stop(struct trial *trial)
{
	int status;

	if (!trial->pid)
		return;
	kill_trial(trial, &status);
	trial->pid = 0;
	unlink(trial->out);
}
