#pragma once
/*
 * libunwind, made safe to call in a verb.
 */
#include <stdbool.h>

/* Load it. Takes the loader's lock. Once. */
void libunwind_open(void);

/*
 * Test that it does what we expect: @outer, @n are the callers of our caller,
 * innermost first, as libgcc has found them. After that libunwind_walk() may
 * use it.
 */
void libunwind_try(void *const *outer, int n);

/* This thread may allocate memory now: let libunwind allocate what it needs in each thread. */
void libunwind_warm_up(void);

/* Return addresses as backtrace() gives them; -1: libunwind is not usable now or in this thread. */
int libunwind_walk(void **frames, int max);

/* Do not use it any more in this process: what it remembers is wrong. */
void libunwind_retire(void);

/* Before a fork, when forks_go_on(). */
void libunwind_fork(void);

/* In a forked child: retire it if another thread was in it. */
void libunwind_forked(void);
