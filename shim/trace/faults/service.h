#pragma once
/*
 * Threads of the recorder's library that do in time what the program's threads do not wait for.
 *
 * A service is a module's thread and the mutex of what it shares with the program's threads. Any
 * thread.
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
	struct service *next;   /* of those that were ever started */
};

/* Start the thread, unless it runs. @service is static. */
void service_start(struct service *service);
