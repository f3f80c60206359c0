#pragma once
/*
 * libunwind, made safe to call in a verb.
 */
#include <stdbool.h>

/* Load libunwind. Takes the loader's lock; called once. */
void libunwind_open(void);

/*
 * Test that libunwind works as expected. @outer: the @n callers of the caller, innermost first, as
 * found by libgcc. After that libunwind_unwind() may use it.
 */
void libunwind_test(void *const *outer, int n);

/* This thread may allocate memory now: let libunwind allocate what it needs for the thread. */
void libunwind_warm_up(void);

/*
 * Return addresses in the form of backtrace(); -1: libunwind cannot be used now, or not in this
 * thread.
 */
int libunwind_unwind(void **frames, int max);

/* Do not use libunwind any more in this process: its cached data is wrong. */
void libunwind_retire(void);

/* Called before a fork, when forks_is_forking() is true. */
void libunwind_before_fork(void);

/* In a forked child: retire libunwind if another thread was inside it. */
void libunwind_after_fork(void);
