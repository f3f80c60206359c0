/*
 * Threads in the process of the program, and fork()
 *
 * A child has none of its parent's threads, and a service's thread may have held its mutex when the
 * child was forked. So the child begins with a new mutex, forgets the parent's objects, which it
 * cannot use, and starts its own thread when it needs one.
 */
#include "shim/trace/faults/service.h"

#include <signal.h>
#include <sys/prctl.h>

#include "shim/trace/ring/record.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct service *services;

static void begin_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	for (struct service *s = services; s; s = s->next) {
		pthread_mutex_init(&s->mutex, NULL);
		atomic_store(&s->started, false);
		s->in_child();
	}
}

static void *run_service(void *arg)
{
	const struct service *service = arg;

	recorder.busy = true; /* the verbs of this thread are not recorded */
	prctl(PR_SET_TIMERSLACK, 1);
	service->serve();
	return NULL;
}

static bool is_listed(const struct service *service)
{
	const struct service *s = services;

	while (s && s != service)
		s = s->next;
	return s;
}

/* Start the thread with all signals blocked, since signals are for the program's threads. */
static void start_thread(struct service *service)
{
	sigset_t all, before;
	pthread_t thread;

	if (!services)
		pthread_atfork(NULL, NULL, begin_in_child);
	if (!is_listed(service)) {
		service->next = services;
		services = service;
	}
	if (service->open)
		service->open();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!pthread_create(&thread, NULL, run_service, service))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void service_start(struct service *service)
{
	if (atomic_load(&service->started))
		return;
	pthread_mutex_lock(&lock);
	if (!atomic_load(&service->started))
		start_thread(service);
	atomic_store(&service->started, true);
	pthread_mutex_unlock(&lock);
}
