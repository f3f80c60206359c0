/*
 * The lock of the state of a replay
 *
 * 	inside: inside++, closed?     the first of the two is seen by the other,
 * 	all:    closed = 1, inside?   since both are sequentially consistent
 */
#include "replay/state/gate.h"

#include <sched.h>

enum { SPINS = 1000 };

bool gate_enter(struct gate *gate)
{
	if (gate_is_closed(gate))
		return false;
	__atomic_add_fetch(&gate->inside, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&gate->closed, __ATOMIC_SEQ_CST))
		return true;
	gate_leave(gate);
	return false;
}

void gate_leave(struct gate *gate)
{
	__atomic_sub_fetch(&gate->inside, 1, __ATOMIC_RELEASE); /* pairs with gate_close() */
}

static void lock_gate(struct gate *gate)
{
	if (!pthread_mutex_trylock(&gate->lock))
		return;
	__atomic_add_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&gate->lock);
	__atomic_sub_fetch(&gate->waiting, 1, __ATOMIC_RELAXED);
}

void gate_close(struct gate *gate)
{
	lock_gate(gate);
	__atomic_store_n(&gate->closed, true, __ATOMIC_SEQ_CST);
	/* pairs with gate_leave() */
	for (unsigned int turn = 0; __atomic_load_n(&gate->inside, __ATOMIC_SEQ_CST); turn++) {
		if (turn < SPINS)
			__builtin_ia32_pause();
		else
			sched_yield();
	}
}

bool gate_open(struct gate *gate)
{
	__atomic_store_n(&gate->closed, false, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&gate->lock);
	return __atomic_load_n(&gate->waiting, __ATOMIC_RELAXED);
}
