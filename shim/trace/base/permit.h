#pragma once
/*
 * What the recorder may still do in a program that has forbidden itself system calls (seccomp(2)).
 *
 * sandbox.c finds it out; whoever is about to make a system call asks here first. Any thread, also
 * in a signal handler; without a filter it is one load.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/event.h"

/* What any thread may not do, enum event_need; a thread that it is not true of is asked apart. */
extern _Atomic uint32_t permit_denied __attribute__((visibility("hidden")));

/* The slow way: has this thread all of @needs? */
bool permit_here(uint32_t needs);

/* All that some thread may not do. */
static inline uint32_t permit_all_denied(void)
{
	return atomic_load_explicit(&permit_denied, memory_order_relaxed);
}

/* May this thread make all system calls that @needs, of enum event_need, take? */
static inline bool permit_has(uint32_t needs)
{
	return !(atomic_load_explicit(&permit_denied, memory_order_relaxed) & needs) ||
	       permit_here(needs);
}

/* calloc(); NULL where the system calls that it may take are forbidden. */
void *permit_alloc(size_t n, size_t bytes);

/* sched_yield(), or nothing. */
void permit_yield(void);

/* getpid(); where that is forbidden, what it was before. */
pid_t permit_pid(void);

/*
 * This thread may do no more than it may now: it had no ring when a filter was installed, and may
 * come from a thread with that filter. Once, when it gets a ring.
 */
void permit_begin_thread(void);

/*
 * A section that ends with another system call than it began with. False: it may not begin, and
 * permit_leave() must not be called. No filter for all threads is installed meanwhile.
 */
bool permit_enter(uint32_t needs);
void permit_leave(void);

/* This thread is about to install a filter, for @all threads or for itself; and has, or has not. */
void permit_close(bool all);
void permit_open(bool all, uint32_t denied);

/* In the child of a fork, by a thread that is in a section, or is not. */
void permit_forked(bool inside);
