/*
 * Detects whether the program received a signal that the recorder got
 *
 * The witness ends with us, even if we are killed.
 */
#include "cli/record/signal_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

enum { PASSED_ON = sizeof(passed_on) / sizeof(*passed_on) };

/* Choose the signals to take: not ignored ones, since a blocked signal would be taken. */
static void choose_signals(sigset_t *set)
{
	struct sigaction action;

	sigemptyset(set);
	for (int i = 0; i < PASSED_ON; i++)
		if (!sigaction(passed_on[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(set, passed_on[i]);
}

static _Noreturn void run_witness(const sigset_t *set, int fd, pid_t parent)
{
	int signal;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "signal-witness");
	for (int i = 0; i < 3; i++)
		close(i); /* readers of the program's output must see its end */
	while (getppid() == parent && !sigwait(set, &signal)) {
		char byte = (char)signal;

		if (write(fd, &byte, 1) < 0)
			break;
	}
	_exit(0);
}

int signal_witness_start(struct signal_witness *witness)
{
	struct signal_witness made;
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
		run_witness(&made.signals, fds[1], self);
	close(fds[1]);
	if (made.pid < 0) {
		int err = -errno;

		sigprocmask(SIG_SETMASK, &made.before, NULL);
		close(fds[0]);
		return err;
	}
	*witness = made;
	return 0;
}

void signal_witness_read(struct signal_witness *witness)
{
	char byte;

	while (read(witness->fd, &byte, 1) == 1)
		sigaddset(&witness->got, byte);
}

bool signal_witness_has(const struct signal_witness *witness, int signal)
{
	return sigismember(&witness->got, signal) == 1;
}

void signal_witness_forget(struct signal_witness *witness)
{
	sigemptyset(&witness->got);
}

void signal_witness_stop(struct signal_witness *witness)
{
	if (!witness->pid)
		return;
	kill(witness->pid, SIGKILL);
	waitpid(witness->pid, NULL, 0);
	close(witness->fd);
	witness->pid = 0;
}
