#pragma once
/*
 * Samples of the cost of a call, two sides measured alternately. Not thread-safe.
 *
 * The speed of a shared machine varies: each sample is the median of PAIRS short runs of one side
 * and the other, A B A B ..., and SAMPLES of them are printed on a line, for scripts/bench/run:
 *
 *	NAME SAMPLE SAMPLE ...
 */
#include <stdint.h>

enum { SAMPLES = 9, PAIRS = 25 };

/* One side: a loop of @n calls, and an untimed action after it (may be NULL). */
struct side {
	void (*run)(void *arg, long n);
	void *arg;
	void (*after)(void);
};

uint64_t sample_now(void); /* ns */

/* ns of a loop that touches no memory: the processor's pace, which changes if it is shared. */
double sample_pace(void);

/* Sorts @values. */
double sample_median(double *values, int n);

void sample_print(const char *name, const double *samples, int n);

/* The additional time of a call of @b over one of @a (may be NULL), in ns: the median of PAIRS. */
double sample_once(const struct side *a, const struct side *b, long n);

/* Print @name with the additional time of a call of @b over one of @a, in ns. */
void sample_difference(const char *name, const struct side *a, const struct side *b, long n);

/* Print @name with the time of a call of @a, including the loop, in ns. */
void sample_cost(const char *name, const struct side *a, long n);
