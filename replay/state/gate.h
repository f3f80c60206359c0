#pragma once
/*
 * Who may touch the state of a replay: many threads at once, each what is its own; or one thread
 * all of it, while no other is inside.
 *
 * To be inside costs a thread two shared words once, and then a look at each step whether somebody
 * wants it out.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct gate {
	pthread_mutex_t lock; /* of the one that has all */
	uint32_t waiting;     /* for the lock */
	bool closed;          /* nobody may be inside */
	uint32_t inside __attribute__((aligned(64)));
};

#define GATE_OPEN                                 \
	{                                         \
		.lock = PTHREAD_MUTEX_INITIALIZER \
	}

/* Returns false where another thread has, or wants, all. */
bool gate_enter(struct gate *gate);
void gate_leave(struct gate *gate);

/* Should those inside leave? */
static inline bool gate_is_closed(const struct gate *gate)
{
	return __builtin_expect(__atomic_load_n(&gate->closed, __ATOMIC_RELAXED), 0);
}

/* Have all of it; for a thread that is not inside. */
void gate_close(struct gate *gate);

/* Returns whether another waits for that. */
bool gate_open(struct gate *gate);
