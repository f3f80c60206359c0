#pragma once
/*
 * A stack of the recorder's own, for what needs more than a verb's caller may have left.
 *
 * Verbs are called on alternate stacks of signals and on those of coroutines,
 * of 8 KB and less; unwinding alone takes more than that leaves. Any thread;
 * no lock. Where there is no stack to be had, or not for this machine, it is
 * done on the caller's.
 */

/*
 * Call @fn with @arg there. Signals must be blocked (quiet.h): the kernel would
 * take the caller's alternate stack for unused, and a handler ours for as large
 * as any. Nests. What @fn unwinds is the caller's stack, too.
 */
void aside_call(void (*fn)(void *arg), void *arg);

/* The child of a fork: threads that were there are not here. */
void aside_forked(void);
