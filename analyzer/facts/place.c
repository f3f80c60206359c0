/*
 * Places in programs
 */
#include "analyzer/facts/place.h"

#include <string.h>

#include "core/wire/hash.h"

enum { FRAMES = 32 };

static void add_frame(struct hash *hash, const struct frame *frame)
{
	const char *module = frame->build_id ? frame->build_id : frame->module;
	uint64_t offset = module ? frame->offset : frame->ip;

	if (module)
		hash_add(hash, module, strlen(module));
	hash_add(hash, &offset, sizeof(offset));
}

uint64_t place_key(struct trace *trace, uint32_t stack)
{
	struct frame frames[FRAMES];
	unsigned int n = stack ? trace_stack(trace, stack, frames, FRAMES) : 0;
	struct hash hash;

	if (!n)
		return stack;
	hash_begin(&hash, 0);
	for (unsigned int i = 0; i < n; i++)
		add_frame(&hash, &frames[i]);
	return hash_end(&hash);
}
