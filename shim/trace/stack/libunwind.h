#pragma once
/*
 * libunwind, made fit for a verb.
 */
#include <stdbool.h>

/* Load it. Takes the loader's lock. Once. */
void libunwind_open(void);

/*
 * Try whether it does what is expected of it: @outer, @n are the callers of
 * who calls, innermost first, as somebody else has found them. After that
 * libunwind_walk() may use it.
 */
void libunwind_try(void *const *outer, int n);

/* This thread may take memory now: what libunwind needs in each is made. */
void libunwind_warm_up(void);

/* Return addresses as backtrace() gives them; -1: it cannot be asked, now or in this thread. */
int libunwind_walk(void **frames, int max);

/* It is not asked any more in this process: what it remembers is wrong. */
void libunwind_retire(void);

/* In a forked child: retire it if another thread was in it. */
void libunwind_forked(void);
