/*
 * Blocking signal handlers and cancellation
 *
 * A handler that interrupts the thread would wait forever for a lock that the thread holds. Faults
 * are not blocked: they belong to the program, and cannot be deferred.
 */
#include "shim/trace/base/quiet.h"

#include <pthread.h>
#include <stddef.h>

#include "shim/trace/base/permit.h"

void quiet_begin(struct quiet *quiet)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t all;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
	quiet->masked = permit_enter(NEED_QUIET);
	if (!quiet->masked)
		return;
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &quiet->signals);
}

void quiet_end(const struct quiet *quiet)
{
	if (quiet->masked) {
		pthread_sigmask(SIG_SETMASK, &quiet->signals, NULL);
		permit_leave();
	}
	pthread_setcancelstate(quiet->cancel, NULL);
}
