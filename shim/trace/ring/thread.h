#pragma once
/*
 * What a thread has of the recorder, beside its ring; called by the thread itself.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Generations of a thread that fit no process's: not even the 0 of a wiped page. */
#define NO_RING (UINT32_MAX - 1)
#define VFORKED (UINT32_MAX - 3) /* a child may be running in its place */

/* Its ring is for the next thread. Takes anything. */
void thread_end(void *unused);

/* Is thread_end() called for threads with rings? To be asked once by a process. */
bool thread_watch_ends(void);

/* A handler's verbs would go unrecorded, and a signal ends posix_fallocate(); faults stay. */
void thread_block_signals(sigset_t *ret_before);

/* vfork.c: is the ring this thread's again? */
bool record_after_vfork(void);
