#pragma once
/*
 * Copies in-flight payload to its buffers if the program does not poll. Any thread.
 */
#include "shim/soft/fabric/peer.h"

/*
 * A connection to @peer, or with NULL to any process, is set up: from now on completions may have
 * payload.
 */
void land_expect(const struct peer *peer);

/* Is the copying thread running? Callers hold the object mutex. */
bool land_runs(void);

/* The last context is closed: end the thread. Callers must not hold the object mutex. */
void land_stop(void);

/* In a child: the thread was not inherited. */
void land_forget(void);
