#pragma once
/*
 * Comparing two sides, of one run or several each. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* The runs are borrowed. Returns 0 and a result for diff_free(); or -errno after log_err(). */
int diff_runs(const struct diff_side *before, const struct diff_side *after, double threshold,
	      struct diff **ret_diff);

/* Accepts NULL. */
void diff_free(struct diff *diff);
