/*
 * Keeping signal handlers and cancellation out
 *
 * A handler of the same thread would wait for ever for a lock that the thread
 * holds. Faults are not blocked: they are the program's, and cannot be
 * deferred.
 */
#include "shim/trace/base/quiet.h"

#include <pthread.h>
#include <stddef.h>

void quiet_begin(struct quiet *quiet)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &quiet->signals);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
}

void quiet_end(const struct quiet *quiet)
{
	pthread_setcancelstate(quiet->cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &quiet->signals, NULL);
}
