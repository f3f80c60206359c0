#pragma once
/*
 * One recorded completion, compared with the one that comes here for it.
 */
struct replay;
struct trace_event;

/* TRACE_POLL. Returns 0 or -errno after log_err(). */
int expect_poll(struct replay *r, const struct trace_event *event);

/* At the end: completions that did not come in time, and those that nobody asked for. */
void expect_end(struct replay *r);
