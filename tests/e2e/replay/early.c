/* A signal as soon as there is a child. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
pid_t fork(void)
{
	pid_t child = ((pid_t(*)(void))dlsym(RTLD_NEXT, "fork"))();
	if (child)
		raise(SIGTERM);
	return child;
}
