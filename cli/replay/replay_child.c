/*
 * The command again, in a child, on the software device
 *
 * 	verbatim replay -> child: the same arguments, VERBATIM_REPLAY_FABRIC set
 * 	                -> remove the fabric, the child's status
 */
#include "cli/replay/replay_child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/replay/fabric.h"
#include "core/faults/file.h"
#include "core/wire/log.h"

#define FABRIC_ENV "VERBATIM_REPLAY_FABRIC" /* set: we are the child, on the software device */
#define SHARED     "shared"                 /* its value if other replays use the fabric, too */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
enum { ENDS = sizeof(ends) / sizeof(*ends) };

static void exec_replay(char **argv, const char *fabric, const sigset_t *unblocked)
{
	struct sigaction old;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (fabric && strcmp(fabric, SHARED) && setenv("VERBATIM_SOFT_FABRIC", fabric, 1))
		_exit(CLI_ENVIRONMENT);
	if (fabric && setenv(FABRIC_ENV, fabric, 1))
		_exit(CLI_ENVIRONMENT);
	if ((fabric || getenv(FAULTS_GIVEN_ENV)) && device_set_environment(NULL, fabric))
		_exit(CLI_ENVIRONMENT);
	for (size_t i = 0; i < ENDS; i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			signal(ends[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, unblocked, NULL);
	execv("/proc/self/exe", argv);
	log_err(-errno, "start ourselves again");
	_exit(CLI_ENVIRONMENT);
}

static volatile sig_atomic_t running; /* the child */

static void forward_to_child(int signal)
{
	kill(running, signal);
}

/* End like the child: by the same signal, or return its status. */
static int exit_like_child(int status)
{
	int number = WTERMSIG(status);

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	for (size_t i = 0; i < ENDS; i++)
		if (ends[i] == number) {
			signal(number, SIG_DFL);
			raise(number);
		}
	log_note("the replay was ended by signal %d (%s)", number, strsignal(number));
	return CLI_ENVIRONMENT;
}

/* A signal that ends us is passed to the child. Returns its status as from waitpid(), or -errno. */
static int wait_for(pid_t child)
{
	int status;

	/* the reader of our output may have exited, but a fabric must still be removed */
	signal(SIGPIPE, SIG_IGN);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return log_err(-errno, "wait for the replay");
	return status;
}

bool replay_child_is(void)
{
	return getenv(FABRIC_ENV);
}

int replay_as_child(char **again, bool soft, bool alone)
{
	struct fabric fabric = { .path = SHARED };
	sigset_t early, before; /* signals that arrive before the fork are passed to the child */
	pid_t child;
	int status, err;

	sigemptyset(&early);
	for (size_t i = 0; i < ENDS; i++) {
		if (signal(ends[i], forward_to_child) == SIG_IGN)
			signal(ends[i], SIG_IGN); /* as under nohup */
		sigaddset(&early, ends[i]);
	}
	sigprocmask(SIG_BLOCK, &early, &before);
	err = soft && alone ? fabric_make("/dev/shm", &fabric) : 0;
	if (err) {
		log_err(err, "make a directory for the software device in /dev/shm");
		return CLI_ENVIRONMENT;
	}
	child = fork();
	if (!child)
		exec_replay(again, soft ? fabric.path : NULL, &before);
	running = child;
	if (child > 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	status = child < 0 ? log_err(-errno, "start ourselves again") : wait_for(child);
	if (soft && alone)
		fabric_remove(&fabric);
	return status < 0 ? CLI_ENVIRONMENT : exit_like_child(status);
}
