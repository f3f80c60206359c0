#pragma once
/*
 * A lock for the state of payload capture, held for a few dozen instructions.
 *
 * The owner may never release it (the thread is cancelled, a signal handler leaves by longjmp()),
 * and a signal handler may interrupt the owner. So no caller waits forever: if it does not get the
 * lock, it gives up the protected data, and reports that.
 */
#include <stdatomic.h>
#include <stdbool.h>

#include "shim/trace/base/permit.h"

enum { SPIN_TURNS = 1000, SPIN_YIELDS = 100000 };

extern __thread bool spin_held __attribute__((tls_model("initial-exec")));

static inline void spin_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static inline bool spin_lock(_Atomic unsigned int *lock)
{
	for (int i = 0; !spin_held && i < SPIN_YIELDS; i++) {
		if (!atomic_exchange_explicit(lock, 1, memory_order_acquire)) {
			spin_held = true;
			return true;
		}
		if (i < SPIN_TURNS)
			spin_relax();
		else
			permit_sched_yield();
	}
	return false;
}

static inline void spin_unlock(_Atomic unsigned int *lock)
{
	atomic_store_explicit(lock, 0, memory_order_release);
	/*
	 * last: until then a signal handler gives up at once, and does not wait for the thread that
	 * it interrupts
	 */
	atomic_signal_fence(memory_order_seq_cst);
	spin_held = false;
}
