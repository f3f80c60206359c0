#pragma once
/*
 * Comparing two sides, of one run or several each. One thread.
 */
#include "analyzer/diff/compared.h"

/* The runs are borrowed. 0 and what is to be given to diff_free(); or -errno after log_err(). */
int diff_runs(const struct diff_side *before, const struct diff_side *after, double threshold,
	      struct diff **ret_diff);

/* Accepts NULL. */
void diff_free(struct diff *diff);
