#pragma once
/*
 * Payload reaches its buffers though nobody polls. Any thread.
 */
#include "shim/soft/fabric/peer.h"

/* We connect to @peer, or to any (NULL): its messages to us may carry payload from now on. */
void land_expect(const struct peer *peer);

/* Is there a thread that brings payload in? Under the object mutex. */
bool land_runs(void);

/* The last context is closed: end the thread. Without the object mutex. */
void land_stop(void);

/* In a child: the thread was not inherited. */
void land_forget(void);
