#pragma once
/*
 * Threads of the recorder's library, which do work while the program's threads continue.
 *
 * A service consists of the thread of a module, and a mutex for the data that it shares with the
 * program's threads. Any thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct service {
	pthread_mutex_t mutex;
	/* called before the thread is started, in each process; may be NULL */
	void (*open)(void);
	void (*serve)(void); /* the function of the thread; does not return */
	/* called in a child after fork(): forget what belongs to the parent */
	void (*in_child)(void);
	atomic_bool started;  /* the thread was started in this process */
	struct service *next; /* in the list of services that were ever started */
};

/* Start the thread, unless it runs. @service must be a static variable. */
void service_start(struct service *service);
