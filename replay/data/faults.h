#pragma once
/*
 * Injecting recorded errors that the traffic alone does not cause.
 *
 * The software device injects them, or the recorder's library on any device. Any thread, after
 * faults_new().
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct replay;
struct replica;

/*
 * Find the errors to inject in the trace. 0 or -errno after log_err(): -EOPNOTSUPP if nothing in
 * this process can inject faults, and the user requested it.
 */
int faults_new(struct replay *r);
void faults_free(struct replay *r);

/*
 * @event will be posted next, to @queue (QP or SRQ), which has @under_way outstanding requests:
 * make it, or one of its requests, fail as recorded. Call faults_end_post() afterwards, in the same
 * thread.
 */
void faults_begin_post(struct replay *r, const struct trace_event *event,
		       const struct replica *queue, uint32_t under_way);
void faults_end_post(struct replay *r, const struct trace_event *event);

/* Is a fault planned for @event, a post or a poll? */
bool faults_are_due(const struct replay *r, const struct trace_event *event);

/* Like dispatch_call(), but fails as recorded. */
int64_t faults_call(struct replay *r, const struct trace_event *event, const uint64_t *args);

/*
 * The poll @event will be replayed next: if it is the first poll that returned flushes of a queue
 * pair, make that queue pair fail.
 */
void faults_begin_poll(struct replay *r, const struct trace_event *event);

/*
 * The recorded asynchronous event @async has not come after @waited of @limit ns: inject it if
 * enough time has passed. @outside: it is an event of a port or the device, which no verb causes.
 * Returns whether the event was injected.
 */
bool faults_raise(struct replay *r, struct ibv_context *context,
		  const struct ibv_async_event *async, bool outside, int64_t waited, int64_t limit);

/* The number of errors of any kind that have been injected. */
uint64_t faults_caused(const struct replay *r);
