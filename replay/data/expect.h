#pragma once
/*
 * One recorded completion, compared with the one that comes here for it.
 */
#include <stdint.h>

struct replay;
struct replica_qp;
struct trace_event;

/* TRACE_POLL, from completion @from on. Returns 0 or -errno after log_err(). */
int expect_poll(struct replay *r, const struct trace_event *event, uint32_t from);

/* It was polled: the first part of that. */
void expect_note(struct replay *r, const struct trace_event *event);

/* Take what is left in the queues of @object before it is destroyed. */
void expect_leave(struct replay *r, uint32_t object);

/* Free what was deferred. */
void expect_forget_late(struct replica_qp *qp);
void expect_fini(struct replay *r);

/* At the end: completions that did not come in time, and those that nobody asked for. */
void expect_end(struct replay *r);
