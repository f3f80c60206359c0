#pragma once
/*
 * Replaying requests for, and acknowledgements of, completion events and asynchronous events.
 */
#include <stdint.h>

struct replay;
struct replica;
struct trace_event;

/* TRACE_RETURN of get_cq_event or get_async_event: wait for the event and compare it. */
int events_get_cq(struct replay *r, const struct trace_event *event);
int events_get_async(struct replay *r, const struct trace_event *event);

/* Note that @cq was armed. */
void events_note_armed(struct replica *cq);

/* Acknowledge as recorded, but not more events than have come in the replay. */
int events_ack_cq(struct replay *r, const struct trace_event *event);
int events_ack_async(struct replay *r, const struct trace_event *event);

/* Acknowledge the remaining events, so that the destruction of @object does not block forever. */
void events_before_destroy(struct replay *r, uint32_t object);

/* Context @object was closed: drop its events, whose objects do not exist any more. */
void events_drop_closed(struct replay *r, uint32_t object);

void events_fini(struct replay *r);
