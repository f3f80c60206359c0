#pragma once
/*
 * The objects of an event of a dump. Not thread-safe.
 */
#include <stdbool.h>

#include "core/store/read/trace.h"

/* The object and the call stack of an event; 0: none, or not known. */
uint32_t event_find_object(const struct trace_event *event);
uint32_t event_find_stack(const struct trace_event *event);

/* The queue whose keys and peer the event uses; 0: none. */
uint32_t event_find_queue(const struct trace_event *event);

/* Does @event act on or use @object, or complete a request of @object? */
bool event_concerns(struct trace *trace, const struct trace_event *event,
		    const struct object *object);

/* Did the event fail, or never return? */
bool event_failed(const struct trace_event *event);

/* The error of a failed call, returned or left in errno. */
int call_error(const struct call *call);
