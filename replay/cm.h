#pragma once
/*
 * The calls of librdmacm, made again: events and private data as recorded.
 *
 * Identifiers are made without queue pairs: those are created, modified and connected by the verbs
 * that librdmacm called inside, which the trace has. What goes through the connection manager here
 * is the rest: addresses, requests, replies, private data, events.
 *
 * One thread at a time.
 */
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct trace_event;
struct args;

/* The one pass before: a call of any kind. Returns 0 or -ENOMEM. */
int cm_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		  const struct args *out);

/*
 * After that: load librdmacm, if the trace has calls of it; or say why they are not made. Returns
 * 0 or -ENOMEM.
 */
int cm_begin(struct replay *r);

void cm_fini(struct replay *r);

/* Is TRACE_CALL or TRACE_RETURN the event of its call at which it may be made again? */
bool cm_takes(const struct trace_event *event);

/* An event that cm_takes(). Returns 0 or -errno after log_err(). */
int cm_replay(struct replay *r, const struct trace_event *event);

/* Process @process has ended: its identifiers go. */
void cm_clear(struct replay *r, uint32_t process);
