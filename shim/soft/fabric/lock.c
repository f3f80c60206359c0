/*
 * Waiting for a lock, and taking it over from a dead process
 *
 * Two processors are common where this device is used, so a waiter yields early: the owner may need
 * the processor that spins.
 */
#include "shim/soft/fabric/lock.h"

#include <sched.h>

#include "shim/soft/fabric/node.h"

enum { SPINS = 100, YIELDS = 512 };

uint32_t lock_self;

static void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* Replace the owner that was found dead, unless another process has replaced it already. */
static bool take_over_lock(struct lock *lock)
{
	uint32_t owner = __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);

	if (owner == 0 || owner == lock_self || node_owner_lives(owner))
		return false;
	return __atomic_compare_exchange_n(&lock->owner, &owner, lock_self, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static bool seems_free(struct lock *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == 0;
}

static void pause_spinning(unsigned int n)
{
	if (n < SPINS)
		relax_cpu();
	else
		sched_yield();
}

bool lock_wait(struct lock *lock)
{
	unsigned int n;

	for (n = 0;; n++) {
		if (seems_free(lock) && lock_try(lock))
			return false;
		pause_spinning(n);
		if (n % YIELDS == YIELDS - 1 && take_over_lock(lock))
			return true;
	}
}

/* Is the owner stopped? If it was stopped at the last check, it is checked again earlier. */
static bool is_stopped(uint32_t owner, unsigned int n)
{
	static uint32_t last;
	bool stopped;

	if (!owner || owner == lock_self ||
	    n % YIELDS < (__atomic_load_n(&last, __ATOMIC_RELAXED) == owner ? SPINS : YIELDS - 1))
		return false;
	stopped = node_owner_is_stopped(owner);
	__atomic_store_n(&last, stopped ? owner : 0, __ATOMIC_RELAXED);
	return stopped;
}

enum lock_result lock_wait_live(struct lock *lock)
{
	unsigned int n;

	for (n = 0;; n++) {
		if (seems_free(lock) && lock_try(lock))
			return LOCK_TAKEN;
		pause_spinning(n);
		if (is_stopped(__atomic_load_n(&lock->owner, __ATOMIC_RELAXED), n))
			return LOCK_STUCK;
		if (n % YIELDS == YIELDS - 1 && take_over_lock(lock))
			return LOCK_HALF_DONE;
	}
}

bool lock_is_stuck(struct lock *lock)
{
	uint32_t owner;
	unsigned int n;

	for (n = 0;; n++) {
		owner = __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);
		if (!owner || owner == lock_self)
			return false;
		pause_spinning(n);
		if (is_stopped(owner, n))
			return true;
		if (n % YIELDS == YIELDS - 1 && !node_owner_lives(owner))
			return false;
	}
}
