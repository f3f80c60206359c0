#pragma once
/*
 * Recorded completions, compared with those that come here.
 */
struct replay;
struct trace_event;
struct live;

/* TRACE_POLL. Returns 0 or -errno after log_err(). */
int polls_replay(struct replay *r, const struct trace_event *event);

/* Take what is in the completion queues of queue pair @live, to be asked for later. */
void polls_drain(struct replay *r, struct live *live);

/* Take up to @max completions of completion queue @live. Returns how many, or -errno. */
int polls_take(struct replay *r, struct live *live, int max);

/* At the end: completions that nobody asked for. */
void polls_end(struct replay *r);
