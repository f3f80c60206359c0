#pragma once
/*
 * Control verbs, called again.
 */
struct replay;
struct trace_event;

/* TRACE_CALL or TRACE_RETURN. Returns 0 or -errno after log_err(). */
int calls_replay(struct replay *r, const struct trace_event *event);
