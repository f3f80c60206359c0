/*
 * The distribution of times and counts
 *
 * 	class   0 .. 31   the values 0 .. 31, each for itself
 * 	class  32 .. 63   32 .. 63, each for itself
 * 	class  64 .. 95   64 .. 127, two each
 * 	class  96 ..127   128 .. 255, four each, and so on
 *
 * A row is allocated with its first value: most values are in few rows, and a trace may have a
 * million queues.
 */
#include "analyzer/profile/histogram.h"

#include <stdlib.h>

unsigned int histogram_class_of(uint64_t value)
{
	unsigned int shift;

	if (value < HISTOGRAM_ROW)
		return (unsigned int)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - HISTOGRAM_BITS;
	return (shift << HISTOGRAM_BITS) + (unsigned int)(value >> shift);
}

/* The largest value of a class. */
static uint64_t class_end(unsigned int class)
{
	unsigned int shift = class >> HISTOGRAM_BITS;
	uint64_t step = class & (HISTOGRAM_ROW - 1);

	if (!shift)
		return class;
	return ((step + HISTOGRAM_ROW + 1) << (shift - 1)) - 1;
}

static uint64_t *make_row(struct histogram *histogram, unsigned int row)
{
	if (!histogram->rows[row])
		histogram->rows[row] = calloc(HISTOGRAM_ROW, sizeof(**histogram->rows));
	return histogram->rows[row];
}

void histogram_add(struct histogram *histogram, int64_t value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;
	unsigned int class = histogram_class_of(v);
	uint64_t *row = histogram->rows[class / HISTOGRAM_ROW];

	if (!histogram->count++ || v < histogram->least)
		histogram->least = v;
	histogram->total += v;
	if (v > histogram->max)
		histogram->max = v;
	if (!row)
		row = make_row(histogram, class / HISTOGRAM_ROW);
	if (row)
		row[class % HISTOGRAM_ROW]++;
}

void histogram_merge(struct histogram *histogram, const struct histogram *from)
{
	if (!from->count)
		return;
	if (!histogram->count || from->least < histogram->least)
		histogram->least = from->least;
	if (from->max > histogram->max)
		histogram->max = from->max;
	histogram->count += from->count;
	histogram->total += from->total;
	for (unsigned int r = 0; r < HISTOGRAM_ROWS; r++) {
		uint64_t *row = from->rows[r] ? make_row(histogram, r) : NULL;

		for (int i = 0; row && i < HISTOGRAM_ROW; i++)
			row[i] += from->rows[r][i];
	}
}

/* Compute the bounds from the remaining classes. */
static void bound_values(struct histogram *histogram)
{
	uint64_t from, to, max = 0, least = UINT64_MAX;

	for (unsigned int c = 0; c < HISTOGRAM_CLASSES; c++)
		if (histogram_count_class(histogram, c, &from, &to)) {
			least = least < from ? least : from;
			max = to;
		}
	histogram->max = histogram->max < max ? histogram->max : max;
	histogram->least =
		least == UINT64_MAX || histogram->least > least ? histogram->least : least;
}

void histogram_subtract(struct histogram *histogram, const struct histogram *before)
{
	if (!before->count)
		return;
	histogram->count -= before->count;
	histogram->total -= before->total;
	for (unsigned int r = 0; r < HISTOGRAM_ROWS; r++)
		for (int i = 0; before->rows[r] && histogram->rows[r] && i < HISTOGRAM_ROW; i++)
			histogram->rows[r][i] -= before->rows[r][i];
	bound_values(histogram);
	if (!histogram->count)
		histogram->least = histogram->max = 0;
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

	for (unsigned int c = 0; c < HISTOGRAM_CLASSES; c++) {
		const uint64_t *row = histogram->rows[c / HISTOGRAM_ROW];
		uint64_t end = class_end(c);

		seen += row ? row[c % HISTOGRAM_ROW] : 0;
		if (seen && (double)seen >= rank)
			return (int64_t)(end < histogram->max ? end : histogram->max);
	}
	return -1;
}

int64_t histogram_mean(const struct histogram *histogram)
{
	return histogram->count ? (int64_t)(histogram->total / histogram->count) : -1;
}

uint64_t histogram_count_class(const struct histogram *histogram, unsigned int i,
			       uint64_t *ret_from, uint64_t *ret_to)
{
	const uint64_t *row = histogram->rows[i / HISTOGRAM_ROW];

	*ret_from = i ? class_end(i - 1) + 1 : 0;
	*ret_to = class_end(i);
	return row ? row[i % HISTOGRAM_ROW] : 0;
}

uint64_t histogram_count_between(const struct histogram *histogram, uint64_t from, uint64_t to)
{
	uint64_t n = 0, begin, end;

	for (unsigned int i = histogram_class_of(from); i <= histogram_class_of(to); i++)
		n += histogram_count_class(histogram, i, &begin, &end);
	return n;
}
