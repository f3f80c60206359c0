/*
 * SIGBUS after a file of the session was truncated
 *
 * A ring is mapped from a file that other processes of the user can truncate: then the next verb
 * would kill the program. If the program has no handler for SIGBUS, the recorder installs one,
 * which repairs the recorder's own mappings (cut.h) and does the default action in all other cases.
 * The program does not notice the handler: sigaction() and signal() return the program's own
 * setting. As soon as the program installs a handler, or ignores the signal, the recorder's handler
 * is removed.
 */
#include "shim/trace/interpose/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/cut.h"
#include "shim/trace/base/libc.h"
#include "shim/trace/ring/recording.h"

/* the program's setting while the recorder's handler is installed: SIG_DFL */
static struct sigaction program;

static void on_bus(int number, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code == BUS_ADRERR && cut_repair(recording_session.dir, info->si_addr)) {
		errno = saved;
		return;
	}
	NEXT(sigaction)(number, &program, NULL);
	if (info->si_code <= 0) /* sent by kill(): send it again; a fault occurs again by itself */
		syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), number, info);
	errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_bus;
}

void fault_begin(void)
{
	const struct sigaction ours = { .sa_sigaction = on_bus,
					.sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct sigaction now;

	if (NEXT(sigaction)(SIGBUS, NULL, &now) || now.sa_flags & SA_SIGINFO ||
	    now.sa_handler != SIG_DFL)
		return;
	program = now;
	NEXT(sigaction)(SIGBUS, &ours, NULL);
}

OURS int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction now, before = program;
	int err;

	if (number != SIGBUS || NEXT(sigaction)(SIGBUS, NULL, &now) || !is_ours(&now))
		return NEXT(sigaction)(number, action, old);
	if (action && !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL) {
		program = *action; /* SIG_DFL: the recorder's handler has the same effect */
		err = 0;
	} else {
		err = action ? NEXT(sigaction)(number, action, NULL) : 0;
	}
	if (!err && old)
		*old = before;
	return err;
}

OURS sighandler_t signal(int number, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (number != SIGBUS || handler == SIG_ERR)
		return NEXT(signal)(number, handler);
	sigaddset(&action.sa_mask, number); /* as libc does */
	return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}
