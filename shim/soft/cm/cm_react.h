#pragma once
/*
 * Changes of ids that no command of the program causes. Callers hold the connection manager's lock.
 */
#include "shim/soft/cm/cm_objects.h"

/* Process the messages, deaths and time limits of @channel. */
void cm_react_run(struct cm_channel *channel);

/* End the connection of @id, and drop its events, including undelivered requests. */
void cm_react_destroy_id(struct cm_id *id);

/* Move @id, with its events, to @channel. 0 or -errno. */
int cm_react_migrate_id(struct cm_id *id, struct cm_channel *channel);
