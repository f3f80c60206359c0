#pragma once
/*
 * What a replay of a trace requires of a device: calls that only some devices support, and sizes.
 *
 * For one trace, not a joint one. Not thread-safe.
 */
#include <stdint.h>

#include "core/store/db/ids.h"

struct trace;

enum requirement_kind {
	NEEDING_XRC,
	NEEDING_UD,
	NEEDING_UC,
	NEEDING_HANDLES,
	NEEDING_IWARP, /* queue pairs, if the trace has only iWARP devices */
	NEEDING_RAW_PACKETS,
	NEEDING_ODP,
	NEEDING_WINDOWS, /* of type 1 */
	NEEDING_WINDOWS_2,
	NEEDING_DEVICE_MEMORY,
	NEEDING_TIMESTAMPS,
	NEEDING_SHARED_QUEUES,
	NEEDING_MULTICAST,
	NEEDING_WORK_QUEUES,
	NEEDING_ATOMICS, /* queue pairs, if the trace has atomic requests */
	NEEDING_COUNT
};

/*
 * Call @each for each successful call that needs @what, in order of time, until @each returns an
 * error. Returns that error, 0, or -errno after log_err().
 */
int requirement_visit_calls(struct trace *trace, enum requirement_kind what,
			    int (*each)(void *arg, struct event_id call), void *arg);

/*
 * The number of objects of @kind: all of them; the maximum at a time. 0 if the table is unreadable.
 */
int64_t requirement_count_objects(struct trace *trace, enum object_kind kind);
int64_t requirement_most_live(struct trace *trace, enum object_kind kind);

/* The length of the largest memory region, bytes. */
uint64_t requirement_largest_region(struct trace *trace);
