/*
 * Threads of the device
 */
#include "shim/soft/fabric/thread.h"

#include <signal.h>

bool thread_start(void *(*run)(void *), void *arg, pthread_t *ret_thread)
{
	pthread_t thread;
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return false;
	if (ret_thread)
		*ret_thread = thread;
	else
		pthread_detach(thread);
	return true;
}
