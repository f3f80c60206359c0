/*
 * Signals to the recorder, and whether the program got them, too
 *
 * The bystander ends with us, even if we are killed.
 */
#include "cli/record/bystander.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

enum { PASSED_ON = sizeof(passed_on) / sizeof(*passed_on) };

/* What is ignored must stay so: blocked, it would come to us after all. */
static void choose_signals(sigset_t *set)
{
	struct sigaction action;

	sigemptyset(set);
	for (int i = 0; i < PASSED_ON; i++)
		if (!sigaction(passed_on[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(set, passed_on[i]);
}

static _Noreturn void stand_by(const sigset_t *set, int fd, pid_t parent)
{
	int signal;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "bystander");
	for (int i = 0; i < 3; i++)
		close(i); /* who reads the program's output must see it end */
	while (getppid() == parent && !sigwait(set, &signal)) {
		char byte = (char)signal;

		if (write(fd, &byte, 1) < 0)
			break;
	}
	_exit(0);
}

int bystander_start(struct bystander *bystander)
{
	struct bystander made;
	int fds[2];
	pid_t self = getpid();

	choose_signals(&made.signals);
	sigemptyset(&made.got);
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	sigprocmask(SIG_BLOCK, &made.signals, &made.before);
	made.fd = fds[0];
	made.pid = fork();
	if (!made.pid)
		stand_by(&made.signals, fds[1], self);
	close(fds[1]);
	if (made.pid < 0) {
		int err = -errno;

		sigprocmask(SIG_SETMASK, &made.before, NULL);
		close(fds[0]);
		return err;
	}
	*bystander = made;
	return 0;
}

void bystander_look(struct bystander *bystander)
{
	char byte;

	while (read(bystander->fd, &byte, 1) == 1)
		sigaddset(&bystander->got, byte);
}

bool bystander_got(const struct bystander *bystander, int signal)
{
	return sigismember(&bystander->got, signal) == 1;
}

void bystander_forget(struct bystander *bystander)
{
	sigemptyset(&bystander->got);
}

void bystander_stop(struct bystander *bystander)
{
	if (!bystander->pid)
		return;
	kill(bystander->pid, SIGKILL);
	waitpid(bystander->pid, NULL, 0);
	close(bystander->fd);
	bystander->pid = 0;
}
