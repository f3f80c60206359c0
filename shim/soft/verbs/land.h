#pragma once
/*
 * Copies in-flight payload to its buffers if the program does not poll. Any thread.
 */
#include "shim/soft/fabric/peer.h"

/*
 * A connection to @peer, or to any process (NULL), is made: completions may carry payload from now
 * on.
 */
void land_expect(const struct peer *peer);

/* Is the copying thread running? With the object mutex held. */
bool land_runs(void);

/* The last context is closed: end the thread. Without the object mutex. */
void land_stop(void);

/* In a child: the thread was not inherited. */
void land_forget(void);
