#pragma once
/*
 * An event, remembered after it has been processed.
 *
 * Any thread.
 */
#include <stdint.h>

#include "core/store/read/trace.h"

struct moment {
	struct event_id id; /* 0:0: not in the trace */
	enum verb verb;     /* VERB_COUNT: none, or unknown */
	uint32_t process;
	uint32_t stack; /* of the trace, 0 none */
	int64_t time;   /* of a call, or its return: when it began */
};

struct moment moment_of(const struct trace_event *event);
