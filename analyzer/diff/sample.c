/*
 * Tests whether two sides differ by more than chance: one number of each run
 *
 * Runs vary by chance: a run is one sample, however many requests it has. So one number per run is
 * compared, such as its median, as a logarithm. The standard error of the difference of the means
 * comes from how much the runs of each side vary, and the interval has the width of Student's t for
 * that number (Welch's degrees of freedom).
 *
 * Few runs that vary much have a wide interval, even if each run of one side is above each run of
 * the other. A distance between the sides that is greater than the range of either side is as
 * unlikely as a value outside of the interval: with three runs per side, and normal or exponential
 * noise, chance causes it in one of 125 pairs of sides; sides that just do not overlap, in one of
 * ten.
 */
#include "analyzer/diff/sample.h"

#include <math.h>
#include <stdlib.h>

enum { APART = 3 /* runs */ };

static double mean_of(const double *of, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += of[i];
	return sum / (double)n;
}

/* The variance of the mean of a side. */
static double variance_of_mean(const double *of, size_t n)
{
	double mean = mean_of(of, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (of[i] - mean) * (of[i] - mean);
	return sum / (double)n / (double)(n - 1);
}

/* Student's t for 99 %, with @df degrees of freedom. */
static double find_t(double df)
{
	static const struct {
		double df, t;
	} table[] = { { 1, 63.66 }, { 2, 9.925 }, { 3, 5.841 },  { 4, 4.604 },  { 5, 4.032 },
		      { 6, 3.707 }, { 8, 3.355 }, { 10, 3.169 }, { 15, 2.947 }, { 30, 2.750 } };
	size_t n = sizeof(table) / sizeof(table[0]), i = 1;

	while (i < n && table[i].df < df)
		i++;
	if (i == n)
		return table[n - 1].t;
	/* a line between two rows is above the curve, which makes the interval slightly wider */
	return table[i].t +
	       (table[i - 1].t - table[i].t) * (table[i].df - df) / (table[i].df - table[i - 1].df);
}

double sample_width(const struct sample *sample)
{
	double v[2], df = 0;

	for (int side = 0; side < 2; side++) {
		v[side] = variance_of_mean(sample->of[side], sample->n[side]);
		df += v[side] * v[side] / (double)(sample->n[side] - 1);
	}
	df = df > 0 ? (v[0] + v[1]) * (v[0] + v[1]) / df
		    : (double)(sample->n[0] + sample->n[1] - 2);
	return find_t(df) * sqrt(v[0] + v[1]);
}

double sample_mean(const struct sample *sample, int side)
{
	return mean_of(sample->of[side], sample->n[side]);
}

static void find_range(const struct sample *sample, int side, double *ret_least, double *ret_most)
{
	*ret_least = INFINITY;
	*ret_most = -INFINITY;
	for (size_t i = 0; i < sample->n[side]; i++) {
		*ret_least = fmin(*ret_least, sample->of[side][i]);
		*ret_most = fmax(*ret_most, sample->of[side][i]);
	}
}

double sample_gap(const struct sample *sample)
{
	double least[2], most[2];

	for (int side = 0; side < 2; side++)
		find_range(sample, side, &least[side], &most[side]);
	if (least[1] > most[0])
		return least[1] - most[0];
	return least[0] > most[1] ? most[1] - least[0] : 0;
}

bool sample_is_apart(const struct sample *sample)
{
	double between = fabs(sample_gap(sample));

	if (sample->n[0] < APART || sample->n[1] < APART)
		return false;
	for (int side = 0; side < 2; side++) {
		double least, most;

		find_range(sample, side, &least, &most);
		if (between <= most - least)
			return false;
	}
	return true;
}

/* The distance by which the sides must be moved apart, in the direction that needs more. */
double sample_min_effect(const struct sample *sample, double least)
{
	double low[2], high[2], by = sample_mean(sample, 1) - sample_mean(sample, 0), need = least;

	for (int side = 0; side < 2; side++) {
		find_range(sample, side, &low[side], &high[side]);
		need = fmax(need, high[side] - low[side]);
	}
	need += fmax(by - (low[1] - high[0]), (low[0] - high[1]) * -1 - by);
	return fmax(need, sample_width(sample));
}

bool sample_begin(struct diff *diff, struct sample *sample)
{
	for (int side = 0; side < 2; side++) {
		sample->n[side] = diff->sides[side].n;
		sample->of[side] = calloc(sample->n[side], sizeof(double));
	}
	diff->no_memory |= !sample->of[0] || !sample->of[1];
	return !diff->no_memory;
}

void sample_end(struct sample *sample)
{
	free(sample->of[0]);
	free(sample->of[1]);
}
