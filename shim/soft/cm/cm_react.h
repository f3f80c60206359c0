#pragma once
/*
 * What happens to ids without a command of the program. Callers hold the connection manager's lock.
 */
#include "shim/soft/cm/cm_objects.h"

/* Handle what has happened: messages, deaths, time limits. */
void cm_react_run(struct cm_channel *channel);

/* Ends its connection, drops its events and the requests among them. */
void cm_react_destroy_id(struct cm_id *id);

/* Move it, with its events, to @channel. 0 or -errno. */
int cm_react_migrate_id(struct cm_id *id, struct cm_channel *channel);
