#pragma once
/*
 * What a thread has of the recorder, beside its ring; called by the thread itself.
 */
#include <stdbool.h>

/* A ring for this thread. False: there is none to be had. */
bool thread_make_ring(void);

/* Its ring is for the next thread. Takes anything. */
void thread_end(void *unused);

/* Have thread_end() called for threads with rings. Once a process; false: it cannot be. */
bool thread_watch_ends(void);
