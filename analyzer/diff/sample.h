#pragma once
/*
 * One number of each run, and how far the sides are apart. For the files of this folder. Not
 * thread-safe.
 */
#include "analyzer/diff/compared.h"

/* One number per run, as a logarithm, or of a share its percentage points. */
struct sample {
	double *of[2];
	size_t n[2];
};

/* Make room for a number of each run; false, with diff->no_memory set, if out of memory. */
bool sample_begin(struct diff *diff, struct sample *sample);
void sample_end(struct sample *sample);

double sample_mean(const struct sample *sample, int side);

/*
 * Half the width of the interval around the difference of the means that has it with a confidence
 * of 99 %. At least two runs per side.
 */
double sample_width(const struct sample *sample);

/*
 * How far the side after is above that before, from the nearest run to the nearest; below 0: it is
 * below. 0: they overlap.
 */
double sample_between(const struct sample *sample);

/*
 * By how much the means would have to differ for sample_apart(), and to be beyond sample_width()
 * and @least, with runs that vary as these do.
 */
double sample_least(const struct sample *sample, double least);

/* Is that more than chance explains? At least three runs per side. */
bool sample_apart(const struct sample *sample);
