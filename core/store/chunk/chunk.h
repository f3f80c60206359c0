#pragma once
/*
 * What writing (batch.h) and reading (block.h) agree on about a chunk: its
 * version, and how large it can be.
 */
#include <stdint.h>

#include "core/store/chunk/columns.h"
#include "core/wire/event.h"

enum { CHUNK_VERSION = 2 };

enum {
	BATCH_EVENTS = 8192, /* a chunk is closed with so many events */
	BATCH_ROWS = 32768,  /* or so many work requests or completions */
	/* no chunk has more: what a full one has, and one event that came last */
	BATCH_EVENTS_MAX = BATCH_EVENTS + 1, /* with a post that was cut short */
	BATCH_ROWS_MAX = BATCH_ROWS + EVENT_POST_WRS,
	BATCH_SGES_MAX = BATCH_ROWS + EVENT_POST_WRS * EVENT_POST_SGES,
};

/* How many rows a chunk may have of that family. */
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
