#pragma once
/*
 * Replaying control verbs.
 */
#include <stdbool.h>

struct replay;
struct trace_event;

/*
 * Is @event (TRACE_CALL or TRACE_RETURN) the one at which its call is replayed, if it is replayed?
 */
bool calls_takes(const struct trace_event *event);

/* Replay the call of @event, which calls_takes(). Returns 0 or -errno after log_err(). */
int calls_replay(struct replay *r, const struct trace_event *event);
