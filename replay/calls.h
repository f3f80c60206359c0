#pragma once
/*
 * Control verbs, called again.
 */
#include <stdbool.h>

struct replay;
struct trace_event;

/* Is TRACE_CALL or TRACE_RETURN the event of its call at which it is called again, if it is? */
bool calls_takes(const struct trace_event *event);

/* TRACE_CALL or TRACE_RETURN. Returns 0 or -errno after log_err(). */
int calls_replay(struct replay *r, const struct trace_event *event);
