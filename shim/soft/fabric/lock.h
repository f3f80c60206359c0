#pragma once
/*
 * A lock that survives its owner's death.
 *
 * The word identifies its owner: a node of the fabric and the instance of the process
 * (node_owner()). A thread that waits too long checks whether that process is alive, and takes the
 * lock over if it is dead. So the data that a lock protects must be valid after each store of its
 * owner.
 *
 * The lock of a stopped process cannot be taken over, since the process may continue. Code that
 * must not block takes locks with lock_take_live(), or calls lock_is_stuck() before it begins.
 *
 * Lock order: a send queue, the peer's queue pair, its shared receive queue, a completion queue;
 * and a queue pair's own lock after the lock of its send queue.
 */
#include <stdbool.h>
#include <stdint.h>

struct lock {
	uint32_t owner;
};

extern uint32_t lock_self; /* value for this process; 0: it has no node */

/*
 * The slow path of lock_take(): spin, yield, and take over from a dead owner. Returns true if it
 * has taken over.
 */
bool lock_wait(struct lock *lock);

/* LOCK_HALF_DONE: its owner died while holding it; LOCK_STUCK: its owner is stopped. */
enum lock_result { LOCK_TAKEN, LOCK_HALF_DONE, LOCK_STUCK };

enum lock_result lock_wait_live(struct lock *lock);

/*
 * Wait until @lock is free, or its owner is dead: false; or until the owner is found stopped: true.
 */
bool lock_is_stuck(struct lock *lock);

static inline bool lock_try(struct lock *lock)
{
	uint32_t nobody = 0;

	return __atomic_compare_exchange_n(&lock->owner, &nobody, lock_self, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Take @lock. True: its owner died while holding it, and the protected data may be half updated. */
static inline bool lock_take(struct lock *lock)
{
	return !lock_try(lock) && lock_wait(lock);
}

static inline enum lock_result lock_take_live(struct lock *lock)
{
	return __builtin_expect(lock_try(lock), 1) ? LOCK_TAKEN : lock_wait_live(lock);
}

/* Pairs with the acquire of lock_try(). */
static inline void lock_drop(struct lock *lock)
{
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELEASE);
}
