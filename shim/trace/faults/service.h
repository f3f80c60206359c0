#pragma once
/*
 * Threads of the recorder's library, for work for which the program's threads do not wait.
 *
 * A service is the thread of a module, and the mutex for data that it shares with the program's
 * threads. Any thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct service {
	pthread_mutex_t mutex;
	void (*open)(void);     /* before the thread is started, in each process; NULL: nothing */
	void (*serve)(void);    /* does not return; its verbs are not recorded */
	void (*in_child)(void); /* after fork(): forget what belongs to the parent */
	atomic_bool started;    /* in this process */
	struct service *next;   /* next service that was ever started */
};

/* Start the thread, unless it runs. @service is static. */
void service_start(struct service *service);
