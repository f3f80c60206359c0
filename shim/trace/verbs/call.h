#pragma once
/*
 * A control verb: one event when it begins, one when it has returned.
 *
 * call_begin() and call_end() preserve errno. Any thread; nests.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/filter.h"

struct call {
	enum verb verb;
	bool on;              /* the call is recorded, and counts in recorder.depth */
	uint32_t seq;         /* number of its EVENT_CALL; 0: dropped */
	uint32_t depth;       /* number of verbs around this one */
	const void *frame;    /* frame of the verb that was outermost before */
	const uint64_t *args; /* read again for the output arguments */
};

/* The slow path of call_begin() and call_end(), if the verb is recorded. */
void call_write_begin(struct call *call, enum verb verb);
void call_write_end(struct call *call, uint64_t ret);

static inline void call_begin(struct call *call, enum verb verb, const uint64_t *args)
{
	call->args = args; /* the hooks always need them */
	call->on = record_ready() && (!recorder.filter || filter_takes_call(verb));
	if (call->on)
		call_write_begin(call, verb);
}

/* @ret: the verb's result, sign-extended to 64 bits; 0 for void. */
static inline void call_end(struct call *call, uint64_t ret)
{
	if (call->on)
		call_write_end(call, ret);
}
