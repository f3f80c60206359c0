#pragma once
/*
 * Compares one recorded completion with the replayed one.
 */
#include <stdint.h>

struct replay;
struct replica_qp;
struct trace_event;

/* Replay a TRACE_POLL, from completion @from on. Returns 0 or -errno after log_err(). */
int expect_poll(struct replay *r, const struct trace_event *event, uint32_t from);

/* The first part of expect_poll(): note that the completion was polled. */
void expect_note(struct replay *r, const struct trace_event *event);

/* Poll the completions left in the queues of @object before it is destroyed. */
void expect_leave(struct replay *r, uint32_t object);

/* Free the deferred comparisons. */
void expect_forget_late(struct replica_qp *qp);
void expect_fini(struct replay *r);

/*
 * When the replay ends: report completions that did not come in time, and unexpected completions.
 */
void expect_end(struct replay *r);
