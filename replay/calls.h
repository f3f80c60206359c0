#pragma once
/*
 * Replaying control verbs.
 */
#include <stdbool.h>

struct replay;
struct trace_event;

/*
 * Is @event (TRACE_CALL or TRACE_RETURN) the event at which its call is replayed, if the call is
 * replayed?
 */
bool calls_is_replayed(const struct trace_event *event);

/* Replay the call of @event, which calls_is_replayed(). Returns 0 or -errno after log_err(). */
int calls_replay(struct replay *r, const struct trace_event *event);
