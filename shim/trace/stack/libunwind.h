#pragma once
/*
 * libunwind, made safe to call in a verb.
 */
#include <stdbool.h>

/* Load libunwind. Takes the loader's lock; called once. */
void libunwind_open(void);

/*
 * Test that libunwind works as expected: @outer, @n are the callers of the caller, innermost first,
 * as found by libgcc. After that libunwind_unwind() may use it.
 */
void libunwind_test(void *const *outer, int n);

/* This thread may allocate memory now: let libunwind allocate its memory for the thread. */
void libunwind_warm_up(void);

/* Return addresses as backtrace() gives them; -1: libunwind is not usable now or in this thread. */
int libunwind_unwind(void **frames, int max);

/* Do not use libunwind any more in this process: its cached data is wrong. */
void libunwind_retire(void);

/* Before a fork, if forks_is_forking() is true. */
void libunwind_fork(void);

/* In a forked child: retire it if another thread was inside it. */
void libunwind_forked(void);
