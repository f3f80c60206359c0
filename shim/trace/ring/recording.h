#pragma once
/*
 * The recording of this process: its session, whether it is on, and the recorder's lock. Any
 * thread.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/session.h"

/* The session of this process, after it has joined one. */
extern struct session recording_session;

/* Generation of a process that is not recorded, and will not be. */
#define RECORDING_OFF UINT32_MAX

/*
 * Generation of the process: 0 in a child after fork (the page is wiped), so that it differs from
 * the generation of every thread, and record_start is called.
 */
extern _Atomic(_Atomic uint32_t *) recording_page __attribute__((visibility("hidden")));

static inline uint32_t recording_generation(void)
{
	/* pairs with the store in recording_begin() */
	return atomic_load_explicit(atomic_load_explicit(&recording_page, memory_order_acquire),
				    memory_order_relaxed);
}

static inline bool recording_is_off(void)
{
	return __builtin_expect(recording_generation() == RECORDING_OFF, 0);
}

/* Is the process recorded now? False before its first verb, also in a child. */
bool recording_is_on(void);

/*
 * Create the page that distinguishes a child from its parent; once per image. Returns 0 or -errno.
 */
int recording_make_page(void);
bool recording_has_page(void);

/* Begin a new generation: from now on this process is recorded. */
void recording_begin(void);

/* After recording_end(): the next verb tries to join a session again. */
void recording_reset(void);

/* Recording of this process has ended; other threads notice this. */
void recording_end(void);
bool recording_is_over(void);

/* In a child of fork(): it must join again. */
void recording_after_fork(void);

/*
 * The recorder's only lock, which the fast path does not take. It blocks signals and cancellation,
 * and is held during a fork, so that it can be released in the child.
 */
void recording_lock(void);
bool recording_trylock(void);
void recording_unlock(void);

/* Has the thread that holds the lock blocked signals? */
bool recording_lock_is_quiet(void);
