#pragma once
/*
 * Recorded errors that the traffic alone does not cause, caused again.
 *
 * On the software device only. Any thread, after faults_new().
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct replay;
struct replica;

/*
 * Look through the trace for what is to happen. 0 or -errno after log_err(): -EOPNOTSUPP if the
 * device here cannot, and it was asked for.
 */
int faults_new(struct replay *r);
void faults_free(struct replay *r);

/*
 * @event is posted next, to @queue (QP or SRQ), on which @under_way requests are not complete: let
 * it, or one of its requests, fail as recorded. Afterwards faults_end_post(), in the same thread.
 */
void faults_begin_post(struct replay *r, const struct trace_event *event,
		       const struct replica *queue, uint32_t under_way);
void faults_end_post(struct replay *r, const struct trace_event *event);

/* Is anything planned for that post or poll? */
bool faults_are_due(const struct replay *r, const struct trace_event *event);

/* As dispatch_call(), failing as it was recorded. */
int64_t faults_call(struct replay *r, const struct trace_event *event, const uint64_t *args);

/* @event is polled next: let a queue pair fail that was first seen flushed by it. */
void faults_begin_poll(struct replay *r, const struct trace_event *event);

/*
 * The recorded asynchronous event @async has not come for @waited of @limit ns: let it happen, if
 * the time has come for that; @outside: it is of a port or the device, and no verb causes it.
 * Returns whether it did.
 */
bool faults_raise(struct replay *r, struct ibv_context *context,
		  const struct ibv_async_event *async, bool outside, int64_t waited, int64_t limit);

/* How many errors, of any kind, were caused so far. */
uint64_t faults_caused(const struct replay *r);
