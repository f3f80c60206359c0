#pragma once
/*
 * Control verbs as statements.
 */
#include "cli/emit/maker.h"

/*
 * Add a statement for the call that begins or returns with @event, if @event is its place. 0;
 * -ENOTSUP after log_err() if the program could not do it; -errno.
 */
int calls_add(struct maker *maker, const struct trace_event *event);

/*
 * A process has ended: its remaining queue pairs must not answer any more, if a peer has noticed
 * that. 0 or -errno.
 */
int calls_add_end(struct maker *maker, uint32_t process);
