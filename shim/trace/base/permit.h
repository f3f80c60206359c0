#pragma once
/*
 * The system calls that the recorder may still make in a program with a seccomp(2) filter.
 *
 * sandbox.c determines them; code must check permit_has() before it makes a system call. Any
 * thread, also in a signal handler; without a filter it is one load.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/event.h"

/*
 * What at least one thread may not do: bits of enum event_need. permit_thread_has() checks this
 * thread.
 */
extern _Atomic uint32_t permit_denied __attribute__((visibility("hidden")));

/* The slow path: does this thread have all of @needs? */
bool permit_thread_has(uint32_t needs);

/* The operations that at least one thread may not do. */
static inline uint32_t permit_all_denied(void)
{
	return atomic_load_explicit(&permit_denied, memory_order_relaxed);
}

/* May this thread make all system calls for @needs, of enum event_need? */
static inline bool permit_has(uint32_t needs)
{
	return !(atomic_load_explicit(&permit_denied, memory_order_relaxed) & needs) ||
	       permit_thread_has(needs);
}

/* calloc(); NULL if its system calls are forbidden. */
void *permit_alloc(size_t n, size_t bytes);

/* sched_yield(), or nothing. */
void permit_sched_yield(void);

/* getpid(); if that is forbidden, its earlier result. */
pid_t permit_getpid(void);

/*
 * Assume that all filters installed so far apply to this thread: it had no ring, and a thread with
 * a filter may have created it. Called once, when it gets a ring.
 */
void permit_begin_thread(void);

/*
 * Begin a section, which ends with another system call than it begins with. False: it must not
 * begin, and permit_leave() must not be called. No filter for all threads is installed during the
 * section.
 */
bool permit_enter(uint32_t needs);
void permit_leave(void);

/*
 * Call permit_before_filter() before this thread installs a filter, for @all threads or for itself;
 * and permit_filter_installed() when it has installed it, or failed.
 */
void permit_before_filter(bool all);
void permit_filter_installed(bool all, uint32_t denied);

/* Call it in the child of a fork. @inside: the thread that forked was inside a section. */
void permit_after_fork(bool inside);
