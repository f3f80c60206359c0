#pragma once
/*
 * Writes payload to the ring in pieces; the kernel reads it. Any thread that has a ring.
 */
#include "core/wire/payload.h"
#include "shim/trace/objects/queues.h"

struct payload_source {
	uint64_t object; /* as in struct event_payload */
	uint32_t of, index;
	enum payload_kind kind;
	enum payload_why why; /* why @spans does not contain the whole payload */
	uint8_t before;
	uint64_t total;
	unsigned int nspans;
	const struct span *spans;
};

/*
 * Write as much as @rule requires (core/wire/payload.h), at most *@budget bytes, and subtract this
 * from *@budget. Returns false if nothing was written, for example for an empty message.
 */
bool payload_write(const struct payload_source *source, const struct payload_rule *rule,
		   uint64_t *budget);
