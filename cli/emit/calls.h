#pragma once
/*
 * Control verbs as statements.
 */
#include "cli/emit/maker.h"

/*
 * Make a statement of the call that begins or has returned with @event, whichever is its place. 0;
 * -ENOTSUP after log_err() where the program could not do it; -errno.
 */
int calls_add(struct maker *maker, const struct trace_event *event);

/*
 * A process has ended: its queue pairs that are left answer no more, where a peer has seen that.
 * 0 or -errno.
 */
int calls_add_end(struct maker *maker, uint32_t process);
