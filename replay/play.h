#pragma once
/*
 * Going through the events of a trace: one after the other, or each recorded thread's by a thread
 * of its own.
 */
struct replay;
struct trace_event;

/* Replays one event; with the lock of the replay, which pace_wait() gives away meanwhile. */
typedef int play_event(struct replay *r, const struct trace_event *event);

/* Returns 0 or -errno after log_err(). */
int play_trace(struct replay *r, play_event *event);
