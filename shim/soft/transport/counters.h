#pragma once
/*
 * Counters of flow rules. Under the object mutex.
 */
#include "shim/soft/transport/soft.h"

enum { COUNTERS_MAX = 64 };	/* places to read */

struct soft_counters {
	struct ibv_counters	counters;
	uint8_t			reads[COUNTERS_MAX];	/* bits: enum ibv_counter_description */
	unsigned int		flows;
	uint64_t		packets, bytes;		/* of rules that are gone */
};

static inline struct soft_counters *to_counters(struct ibv_counters *counters)
{
	return container(counters, struct soft_counters, counters);
}
