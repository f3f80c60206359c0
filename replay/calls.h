#pragma once
/*
 * Replaying control verbs.
 */
#include <stdbool.h>

struct replay;
struct trace_event;

/*
 * Would the call of @event be replayed at @event? A call is replayed either at its begin
 * (TRACE_CALL) or at its return (TRACE_RETURN).
 */
bool calls_is_replayed(const struct trace_event *event);

/* Replay the call of @event, which calls_is_replayed(). Returns 0 or -errno after log_err(). */
int calls_replay(struct replay *r, const struct trace_event *event);
