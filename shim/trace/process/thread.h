#pragma once
/*
 * The recording of a thread. The thread itself calls these functions.
 */
#include <stdbool.h>

/* Get a ring for this thread. False: there is none. */
bool thread_make_ring(void);

/* The thread ends: its ring becomes free for another thread. The argument is not used. */
void thread_end(void *unused);

/*
 * Make sure that thread_end() is called when a thread with a ring ends. False: that is not
 * possible.
 */
bool thread_watch_ends(void);
