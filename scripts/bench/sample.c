/*
 * Samples of the cost of a call
 *
 * Not here: the calls (verbs.c, limits.c).
 */
#include "scripts/bench/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t sample_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

double sample_pace(void)
{
	enum { STEPS = 40000 };
	uint64_t start = sample_now();

	for (int i = 0; i < STEPS; i++)
		__asm__ volatile("" : : "r"(i));
	return (double)(sample_now() - start);
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double sample_median(double *values, int n)
{
	qsort(values, (size_t)n, sizeof(*values), compare_times);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void sample_print(const char *name, const double *samples, int n)
{
	printf("%s", name);
	for (int i = 0; i < n; i++)
		printf(" %.3f", samples[i]);
	printf("\n");
	fflush(stdout);
}

/* ns a call */
static double time_side(const struct side *side, long n)
{
	uint64_t start = sample_now();
	uint64_t took;

	side->run(side->arg, n);
	took = sample_now() - start;
	if (side->after)
		side->after();
	return (double)took / (double)n;
}

double sample_once(const struct side *a, const struct side *b, long n)
{
	double pairs[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		double before = a ? time_side(a, n) : 0;

		pairs[i] = time_side(b, n) - before;
	}
	return sample_median(pairs, PAIRS);
}

static void print_samples(const char *name, const struct side *a, const struct side *b, long n)
{
	double samples[SAMPLES];

	/* the first is to warm up, and from the same place: the recorder distinguishes places */
	for (int i = -1; i < SAMPLES; i++)
		samples[i < 0 ? 0 : i] = sample_once(a, b, n);
	sample_print(name, samples, SAMPLES);
}

void sample_difference(const char *name, const struct side *a, const struct side *b, long n)
{
	print_samples(name, a, b, n);
}

void sample_cost(const char *name, const struct side *a, long n)
{
	print_samples(name, NULL, a, n);
}
