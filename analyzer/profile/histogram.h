#pragma once
/*
 * The distribution of times and counts, in little memory and with a bounded error.
 *
 * There are 32 classes between two powers of two, so a percentile is at most 1/32 (3.2 %) above the
 * true value, and never below it. Values below 64 are exact. Two histograms have the same classes:
 * they can be merged and compared class by class.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HISTOGRAM_BITS = 5, /* a power of two has 1 << HISTOGRAM_BITS classes */
	HISTOGRAM_ROW = 1 << HISTOGRAM_BITS,
	HISTOGRAM_ROWS = 64 - HISTOGRAM_BITS + 1,
	HISTOGRAM_CLASSES = HISTOGRAM_ROWS * HISTOGRAM_ROW,
};

struct histogram {
	uint64_t count, total, least, max; /* exact; least is 0 if there are none */
	uint64_t *rows[HISTOGRAM_ROWS];    /* of HISTOGRAM_ROW classes; NULL: all are 0 */
};

/* Accepts a zeroed histogram. */
void histogram_fini(struct histogram *histogram);

/* Negative values count as 0. If memory runs out only the total grows. */
void histogram_add(struct histogram *histogram, int64_t value);

/* Add all values of @from. If memory runs out only the total grows. */
void histogram_merge(struct histogram *histogram, const struct histogram *from);

/*
 * Subtract all values of @before, an earlier state of this histogram. If `max` has changed since,
 * it becomes the upper bound of its class.
 */
void histogram_subtract(struct histogram *histogram, const struct histogram *before);

/* The value that @percent of all do not exceed; -1 if there are none. */
int64_t histogram_percentile(const struct histogram *histogram, double percent);

/* The mean, which is exact; -1 if there are none. */
int64_t histogram_mean(const struct histogram *histogram);

/* The number of values in class @i, which covers @ret_from to @ret_to. */
uint64_t histogram_count_class(const struct histogram *histogram, unsigned int i,
			       uint64_t *ret_from, uint64_t *ret_to);

/* The class of @value. */
unsigned int histogram_class_of(uint64_t value);

/* The number of values from @from to @to, in whole classes, including the classes of both ends. */
uint64_t histogram_count_between(const struct histogram *histogram, uint64_t from, uint64_t to);
