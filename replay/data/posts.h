#pragma once
/*
 * Replaying posts of work requests.
 */
struct replay;
struct trace_event;

/* Replay a post (TRACE_POST). Returns 0 or -errno after log_err(). */
int posts_replay(struct replay *r, const struct trace_event *event);

void posts_fini(struct replay *r);
