#pragma once
/*
 * Copies in-flight payload to its buffers if the program does not poll. Any thread.
 */
#include "shim/soft/fabric/peer.h"

/*
 * A connection to @peer, or with NULL to any process, is set up: from now on completions may have
 * payload.
 */
void copy_thread_start_for(const struct peer *peer);

/* Is the copying thread running? Callers hold the object mutex. */
bool copy_thread_is_running(void);

/* The last context is closed: end the thread. Callers must not hold the object mutex. */
void copy_thread_stop(void);

/* In a child: the thread was not inherited. */
void copy_thread_forget(void);
