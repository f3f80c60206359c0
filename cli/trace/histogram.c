/*
 * The distribution of times
 *
 *	class   0 .. 31   the values 0 .. 31, each for itself
 *	class  32 .. 63   32 .. 63, each for itself
 *	class  64 .. 95   64 .. 127, two each
 *	class  96 ..127   128 .. 255, four each, and so on
 *
 * A row is allocated with its first value: most times are in few rows, and a trace
 * may have a million queues.
 */
#include "cli/trace/histogram.h"

#include <stdlib.h>

enum { ROW = 1 << HISTOGRAM_BITS };

static unsigned int class_of(uint64_t value)
{
	unsigned int shift;

	if (value < 1u << HISTOGRAM_BITS)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - HISTOGRAM_BITS;
	return (shift << HISTOGRAM_BITS) + (unsigned int)(value >> shift);
}

/* The largest value of a class. */
static uint64_t class_end(unsigned int class)
{
	unsigned int shift = class >> HISTOGRAM_BITS;
	uint64_t step = class & ((1u << HISTOGRAM_BITS) - 1);

	if (!shift)
		return class;
	return ((step + (1u << HISTOGRAM_BITS) + 1) << (shift - 1)) - 1;
}

void histogram_add(struct histogram *histogram, int64_t value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;
	unsigned int class = class_of(v);
	uint32_t **row = &histogram->rows[class / ROW];

	histogram->count++;
	histogram->total += v;
	if (v > histogram->max)
		histogram->max = v;
	if (!*row)
		*row = calloc(ROW, sizeof(**row));
	if (*row)
		(*row)[class % ROW]++;
}

void histogram_fini(struct histogram *histogram)
{
	for (int i = 0; i < HISTOGRAM_ROWS; i++)
		free(histogram->rows[i]);
	*histogram = (struct histogram){ 0 };
}

int64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	double rank = percent / 100 * (double)histogram->count;
	uint64_t seen = 0;

	for (unsigned int c = 0; c < HISTOGRAM_ROWS * ROW; c++) {
		const uint32_t *row = histogram->rows[c / ROW];
		uint64_t end = class_end(c);

		seen += row ? row[c % ROW] : 0;
		if (seen && (double)seen >= rank)
			return (int64_t)(end < histogram->max ? end : histogram->max);
	}
	return -1;
}
