#pragma once
/*
 * One number of each run, and how far the sides are apart. For the files of this folder. Not
 * thread-safe.
 */
#include "analyzer/diff/compared.h"

/* One number per run: its logarithm, or percentage points if it is a share. */
struct sample {
	double *of[2];
	size_t n[2];
};

/* Allocate memory for a number of each run; false, with diff->no_memory set, if out of memory. */
bool sample_begin(struct diff *diff, struct sample *sample);
void sample_end(struct sample *sample);

double sample_mean(const struct sample *sample, int side);

/*
 * Half the width of the confidence interval (99 %) of the difference of the means. At least two
 * runs per side.
 */
double sample_width(const struct sample *sample);

/*
 * The distance of the nearest runs of the two sides: > 0 if all of the side after are above those
 * before, < 0 if all are below; 0: the sides overlap.
 */
double sample_gap(const struct sample *sample);

/*
 * By how much the means would have to differ to exceed sample_width() and @least, and to make
 * sample_is_apart() true, if runs vary as these do.
 */
double sample_min_effect(const struct sample *sample, double least);

/* Is the difference more than chance explains? At least three runs per side. */
bool sample_is_apart(const struct sample *sample);
