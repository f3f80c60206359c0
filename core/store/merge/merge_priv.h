#pragma once
/*
 * Internals of merging: merge.c writes the file, merge_rows.c the control plane, merge_data.c
 * chunks, merge_meta.c table meta. Not thread-safe.
 */
#include "core/store/db/sql.h"
#include "core/store/read/part.h"
#include "core/store/read/trace.h"

/* A trace that is being copied. */
struct merge_part {
	const struct joint_part *joint;
	sqlite3 *db;
	uint32_t modules, devices; /* their numbers in earlier parts */
	uint32_t ndevices;
	uint32_t *device; /* maps a device's number in the part to its number in the merged trace */
};

struct merge {
	struct trace *joint;
	sqlite3 *to;
	const char *beside; /* temporary name of the new file */
	struct merge_part *parts;
	size_t n;
};

/* Convert a time of the part to the common time line. */
static inline int64_t merge_time(const struct merge_part *part, int64_t time)
{
	return trace_clock_time(&part->joint->clock, time);
}

int merge_copy_rows(struct merge *merge); /* copies the rows of all parts */
int merge_copy_devices(struct merge *merge, struct merge_part *part);
int merge_copy_counters(struct merge *merge, struct merge_part *part);
int merge_copy_data(struct merge *merge, const struct merge_part *part);

/* Write tables meta, merged and merged_meta. */
int merge_describe(struct merge *merge);
