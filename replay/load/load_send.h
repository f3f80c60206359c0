#pragma once
/*
 * The loop of a worker: sends what is due, and polls. For load_run.c.
 */
#include "replay/load/load_worker.h"

/*
 * From time 0 on, until all is sent and received, something has failed, or the run is stopped. 0 or
 * -errno after log_err().
 */
int load_send(struct load_worker *worker);
