#pragma once
/*
 * The loop of a worker: sends what is due, and polls. For load_run.c.
 */
#include "replay/load/load_worker.h"

/*
 * Send from time 0 on, until all is sent and received, something fails, or the run stops. 0 or
 * -errno after log_err().
 */
int load_send(struct load_worker *worker);
