#pragma once
/*
 * Payload into the ring: read by the kernel, in pieces. Any thread, with a ring.
 */
#include "core/wire/payload.h"
#include "shim/trace/objects/queues.h"

struct payload_source {
	uint64_t object; /* as in struct event_payload */
	uint32_t of, index;
	enum payload_kind kind;
	enum payload_why why; /* what is not in @spans, if not all of it is */
	uint8_t before;
	uint64_t total;
	unsigned int nspans;
	const struct span *spans;
};

/*
 * Write what is kept of it (core/wire/payload.h), at most *@budget bytes, which
 * are taken off there. False: nothing was written, as of no bytes at all.
 */
bool payload_write(const struct payload_source *source, const struct payload_rule *rule,
		   uint64_t *budget);
