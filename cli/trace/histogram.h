#pragma once
/*
 * The distribution of times, in little memory and with a known error.
 *
 * There are 32 classes between two powers of two, so a percentile is at most 1/32
 * above the true value.
 */
#include <stdint.h>

enum {
	HISTOGRAM_BITS = 5, /* classes of one power of two: 1 << that */
	HISTOGRAM_ROWS = 64 - HISTOGRAM_BITS + 1,
};

struct histogram {
	uint64_t count, total, max;
	uint32_t *rows[HISTOGRAM_ROWS]; /* of 1 << HISTOGRAM_BITS classes; NULL: all of it 0 */
};

/* Accepts one that is zeroed. */
void histogram_fini(struct histogram *histogram);

/* Negative values count as 0. If memory runs out only the total grows. */
void histogram_add(struct histogram *histogram, int64_t value);

/* The value that @percent of all do not exceed; -1 where there are none. */
int64_t histogram_percentile(const struct histogram *histogram, double percent);
