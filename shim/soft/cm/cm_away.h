#pragma once
/*
 * Messages between the connection manager and other machines. Any thread.
 */
#include "shim/soft/cm/cm_wire.h"

/* Open the network, unless it is open. 0 or -errno. */
int cm_away_start(void);

/* Send a message to another machine; it may be lost. */
void cm_remote_send(const struct cm_name *to, const struct cm_msg *msg);
