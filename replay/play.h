#pragma once
/*
 * Iterating over the events of a trace: in one order, or each recorded thread's events by a
 * separate thread.
 */
struct replay;
struct trace_event;

/*
 * Replays one event; the caller holds the lock of the replay, which pace_wait() releases while it
 * waits.
 */
typedef int play_event(struct replay *r, const struct trace_event *event);

/* Returns 0 or -errno after log_err(). */
int play_trace(struct replay *r, play_event *event);
