#pragma once
/*
 * The lock of the state of a replay: either many threads are inside, each using only its own
 * objects, or one thread has exclusive access.
 *
 * Entering writes two shared words; after that a thread only reads, at each step, whether another
 * one wants exclusive access.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	pthread_mutex_t lock; /* held by the thread with exclusive access */
	uint32_t waiting;     /* number of threads that wait for the lock */
	bool closed;          /* no thread may enter */
	uint32_t inside __attribute__((aligned(64)));
};

#define GATE_OPEN                                 \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Returns false if another thread has, or wants, exclusive access. */
bool gate_enter(struct gate *gate);
void gate_leave(struct gate *gate);

/* Should the threads inside leave? */
static inline bool gate_is_closed(const struct gate *gate)
{
	return __builtin_expect(__atomic_load_n(&gate->closed, __ATOMIC_RELAXED), 0);
}

/* Get exclusive access; for a thread that is not inside. */
void gate_close(struct gate *gate);

/* Returns whether another thread waits for exclusive access. */
bool gate_open(struct gate *gate);
