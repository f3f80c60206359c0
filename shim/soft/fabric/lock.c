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

/* The owner that was seen dead may have been replaced: compare with it. */
static bool take_over(struct lock *lock)
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

bool lock_wait(struct lock *lock)
{
	unsigned int n;

	for (n = 0;; n++) {
		if (seems_free(lock) && lock_try(lock))
			return false;
		if (n < SPINS)
			relax_cpu();
		else
			sched_yield();
		if (n % YIELDS == YIELDS - 1 && take_over(lock))
			return true;
	}
}
