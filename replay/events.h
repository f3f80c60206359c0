#pragma once
/*
 * Completion events and asynchronous events, asked for and acknowledged again.
 */
#include <stdint.h>

struct replay;
struct replica;
struct trace_event;

/* TRACE_RETURN of get_cq_event, get_async_event: wait for it, compare. */
int events_get_cq(struct replay *r, const struct trace_event *event);
int events_get_async(struct replay *r, const struct trace_event *event);

/* The CQ was armed. */
void events_armed(struct replica *cq);

/* Acknowledge as recorded, but not more events than came here. */
int events_ack_cq(struct replay *r, const struct trace_event *event);
int events_ack_async(struct replay *r, const struct trace_event *event);

/* Acknowledge the rest, so that the destroy of @object does not wait for ever. */
void events_before_destroy(struct replay *r, uint32_t object);

/* Context @object was closed: what came from it is about nothing that still exists. */
void events_of_closed(struct replay *r, uint32_t object);

void events_fini(struct replay *r);
