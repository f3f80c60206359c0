#pragma once
/*
 * A private stack, for work that needs more stack than a verb's caller may have left.
 *
 * Verbs are called on alternate signal stacks and on coroutine stacks of 8 KB and less; unwinding
 * alone needs more than these have left. Any thread; no lock. If no stack is available, or the
 * processor is not x86-64, the work is done on the caller's stack.
 */

/*
 * Call @fn with @arg on a private stack. Signals must be blocked (quiet.h): the kernel would regard
 * the caller's alternate stack as unused, and a handler could overflow the private one. Nests.
 * Unwinding in @fn continues into the caller's stack.
 */
void private_stack_call(void (*fn)(void *arg), void *arg);

/* In the child of a fork: the parent's other threads do not exist. */
void private_stack_after_fork(void);

/* Unmap the stacks. No thread is in the recorder, and none will enter it for now. */
void private_stack_release(void);
