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
 * A process with thousands of queue pairs often waits until nobody uses any of their locks (mr.c).
 * So a free lock may be made quiet: taking it then sets a bit in a dense array, by which that
 * process finds the locks that were taken since. The bit is set before its owner does anything
 * else. A lock that is not quiet is taken at no extra cost.
 *
 * Lock order: a send queue, the peer's queue pair, its shared receive queue, a completion queue;
 * and a queue pair's own lock after the lock of its send queue.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lock {
	uint32_t owner; /* 0: free; LOCK_QUIET */
};

#define LOCK_QUIET 1u /* free, and its bit is clear; not a value of node_owner() */

/* The bit of a lock; @word NULL: it is never made quiet. */
struct lock_bit {
	uint64_t *word;
	uint64_t mask;
};

static inline struct lock_bit lock_bit(uint64_t *bits, uint32_t i)
{
	return (struct lock_bit){ &bits[i / 64], 1ull << i % 64 };
}

extern uint32_t lock_self; /* value for this process; 0: it has no node */

/*
 * The slow path of lock_take(): spin, yield, and take over from a dead owner. Returns true if it
 * has taken over. lock_wait() finds the bits of the locks of lock_set_own().
 */
bool lock_wait(struct lock *lock);
bool lock_wait_with(struct lock *lock, struct lock_bit bit);

/* @n locks of this process, @stride bytes from each to the next, and their bits. */
void lock_set_own(const struct lock *first, size_t stride, uint32_t n, uint64_t *bits);

/* LOCK_HALF_DONE: its owner died while holding it; LOCK_STUCK: its owner is stopped. */
enum lock_result { LOCK_TAKEN, LOCK_HALF_DONE, LOCK_STUCK };

enum lock_result lock_wait_live(struct lock *lock, struct lock_bit bit);

/*
 * Make a free lock quiet. False: it is taken, and stays as it is. One thread at a time. What its
 * owners did is visible.
 */
bool lock_make_quiet(struct lock *lock, struct lock_bit bit);

/* Take a lock if it is quiet. */
bool lock_wake(struct lock *lock, struct lock_bit bit);

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
	return __builtin_expect(lock_try(lock), 1) ? LOCK_TAKEN
						   : lock_wait_live(lock, (struct lock_bit){ 0 });
}

/* Pairs with the acquire of lock_try(). */
static inline void lock_drop(struct lock *lock)
{
	__atomic_store_n(&lock->owner, 0, __ATOMIC_RELEASE);
}
