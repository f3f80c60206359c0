#pragma once
/*
 * A control verb: one event when it begins, one when it has returned.
 *
 * errno is after call_begin() what it was before it, and after call_end() what
 * the verb left. Any thread; nests.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

struct call {
	enum verb verb;
	bool on;              /* it counts among those of recorder.depth */
	uint32_t seq;         /* of its begin; 0: that was dropped */
	uint32_t depth;       /* of the verbs around it */
	const void *frame;    /* of the outermost before it */
	const uint64_t *args; /* for what comes out by them */
};

void call_begin(struct call *call, enum verb verb, const uint64_t *args);

/* @ret: what it returned, widened to 64 bits with its sign; 0 for void. */
void call_end(struct call *call, uint64_t ret);
