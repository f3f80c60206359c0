#pragma once
/*
 * Control verbs as statements.
 */
#include "cli/emit/maker.h"

/*
 * Add a statement for the call that begins or returns with @event, if it is ordered by that event.
 * 0; -ENOTSUP after log_err() if the program could not repeat the call; -errno.
 */
int calls_add(struct maker *maker, const struct trace_event *event);

/*
 * A process has ended: if a peer noticed, its remaining queue pairs must no longer answer. 0 or
 * -errno.
 */
int calls_add_end(struct maker *maker, uint32_t process);
