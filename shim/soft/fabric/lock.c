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

static struct {
	uintptr_t first;
	size_t stride;
	uint32_t n;
	uint64_t *bits;
} own;

void lock_set_own(const struct lock *first, size_t stride, uint32_t n, uint64_t *bits)
{
	own.first = (uintptr_t)first;
	own.stride = stride;
	own.n = n;
	own.bits = bits;
}

static struct lock_bit find_own_bit(const struct lock *lock)
{
	uintptr_t at = (uintptr_t)lock - own.first;

	if (!own.n || at / own.stride >= own.n || at % own.stride)
		return (struct lock_bit){ 0 };
	return lock_bit(own.bits, (uint32_t)(at / own.stride));
}

/* A fence: keys that were withdrawn before the bit was read are not found after it is set. */
static void set_bit(struct lock_bit bit)
{
	if (bit.word)
		__atomic_fetch_or(bit.word, bit.mask, __ATOMIC_SEQ_CST);
}

/* The bit is cleared first: an owner that takes the lock after that is seen in it. */
bool lock_make_quiet(struct lock *lock, struct lock_bit bit)
{
	uint32_t owner = 0;

	__atomic_fetch_and(bit.word, ~bit.mask, __ATOMIC_SEQ_CST);
	if (__atomic_compare_exchange_n(&lock->owner, &owner, LOCK_QUIET, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST) ||
	    owner == LOCK_QUIET)
		return true;
	set_bit(bit);
	return false;
}

bool lock_wake(struct lock *lock, struct lock_bit bit)
{
	uint32_t owner = LOCK_QUIET;

	if (!bit.word || !__atomic_compare_exchange_n(&lock->owner, &owner, lock_self, false,
						      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	set_bit(bit);
	return true;
}

static void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/*
 * Replace the owner that was found dead, unless another process has replaced it already. It may
 * have died before it set the bit.
 */
static bool take_over_lock(struct lock *lock, struct lock_bit bit)
{
	uint32_t owner = __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);

	if (owner == 0 || owner == lock_self || node_owner_lives(owner) ||
	    !__atomic_compare_exchange_n(&lock->owner, &owner, lock_self, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	set_bit(bit);
	return true;
}

static bool take_free_lock(struct lock *lock, struct lock_bit bit)
{
	uint32_t owner = __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);

	return owner ? owner == LOCK_QUIET && lock_wake(lock, bit) : lock_try(lock);
}

static void pause_spinning(unsigned int n)
{
	if (n < SPINS)
		relax_cpu();
	else
		sched_yield();
}

bool lock_wait_with(struct lock *lock, struct lock_bit bit)
{
	unsigned int n;

	for (n = 0;; n++) {
		if (take_free_lock(lock, bit))
			return false;
		pause_spinning(n);
		if (n % YIELDS == YIELDS - 1 && take_over_lock(lock, bit))
			return true;
	}
}

bool lock_wait(struct lock *lock)
{
	return lock_wait_with(lock, find_own_bit(lock));
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

enum lock_result lock_wait_live(struct lock *lock, struct lock_bit bit)
{
	unsigned int n;

	for (n = 0;; n++) {
		if (take_free_lock(lock, bit))
			return LOCK_TAKEN;
		pause_spinning(n);
		if (is_stopped(__atomic_load_n(&lock->owner, __ATOMIC_RELAXED), n))
			return LOCK_STUCK;
		if (n % YIELDS == YIELDS - 1 && take_over_lock(lock, bit))
			return LOCK_HALF_DONE;
	}
}

bool lock_is_stuck(struct lock *lock)
{
	uint32_t owner;
	unsigned int n;

	for (n = 0;; n++) {
		owner = __atomic_load_n(&lock->owner, __ATOMIC_RELAXED);
		if (!owner || owner == LOCK_QUIET || owner == lock_self)
			return false;
		pause_spinning(n);
		if (is_stopped(owner, n))
			return true;
		if (n % YIELDS == YIELDS - 1 && !node_owner_lives(owner))
			return false;
	}
}
