#pragma once
/* Shared by the files that write an outcome. */
#include <stddef.h>

#include "replay/outcome.h"

enum { KEPT_MAX = 10000, REASONS_MAX = 64 };

struct skip {
	struct event_id event; /* the first */
	enum verb verb;
	char *why;
	uint64_t n;
};

struct tolerated {
	const char *reason;
	uint64_t n;
};

struct outcome {
	char *trace, *device;
	bool other_device;
	uint64_t counts[OUTCOME_COUNTS];
	uint64_t calls[VERB_COUNT];
	struct divergence *kept;
	size_t nkept;
	uint64_t ndivergences;
	struct skip *skips;
	size_t nskips;
	uint64_t nskipped;
	char **notes;
	size_t nnotes;
	struct tolerated tolerated[REASONS_MAX];
	size_t ntolerated;
	double recorded, replayed; /* seconds */
};
