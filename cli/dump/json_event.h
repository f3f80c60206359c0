#pragma once
/*
 * An event as one JSON object in a line. Not thread-safe.
 */
#include "cli/dump/json_value.h"
#include "cli/dump/render.h"

struct stack;

struct json_event {
	const struct render *render; /* of the same dump; its `out` is not used */
	struct json_values values;
	uint64_t bytes; /* the most bytes that are printed of a payload */
};

/*
 * Write everything that `verbatim dump` shows of @event, and its @stack unless that is NULL.
 * @marked: it is the event of --around. Returns 0 or -ENOMEM.
 */
int json_event_put(struct json_event *json, const struct trace_event *event,
		   const struct stack *stack, bool marked);
