#pragma once
/*
 * The recording of a thread. Called by the thread itself.
 */
#include <stdbool.h>

/* Get a ring for this thread. False: none is available. */
bool thread_make_ring(void);

/* The thread ends: its ring becomes free for the next thread. The argument is not used. */
void thread_end(void *unused);

/* Have thread_end() called when a thread with a ring ends. False: that is not possible. */
bool thread_watch_ends(void);
