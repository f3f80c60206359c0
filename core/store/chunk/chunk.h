#pragma once
/*
 * The version and the maximum size of a chunk, for writing (batch.h) and reading (block.h).
 */
#include <stdint.h>

#include "core/store/chunk/columns.h"
#include "core/wire/event.h"

enum { CHUNK_VERSION = 2 };

enum {
	BATCH_EVENTS = 8192, /* a chunk is closed when it has this many events */
	BATCH_ROWS = 32768,  /* or this many work requests or completions */
	/*
	 * limits of a chunk: a batch may be almost full when one event of the largest size is added
	 */
	BATCH_EVENTS_MAX = BATCH_EVENTS + 1, /* including a post whose last event never came */
	BATCH_ROWS_MAX = BATCH_ROWS + EVENT_POST_WRS,
	BATCH_SGES_MAX = BATCH_ROWS + EVENT_POST_WRS * EVENT_POST_SGES,
};

/* The most rows of the family in a chunk. */
static inline uint32_t batch_rows_max(enum family family)
{
	switch (family) {
	case FAMILY_EVENT:
	case FAMILY_POST:
	case FAMILY_POLL:
	case FAMILY_NOTIFY:
		return BATCH_EVENTS_MAX;
	case FAMILY_SGE:
		return BATCH_SGES_MAX;
	default:
		return BATCH_ROWS_MAX;
	}
}
