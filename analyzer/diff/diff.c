/*
 * Two sides, of one run or several each, compared
 *
 * 	pair.c		functions of one run <-> those of the others
 * 	structure.c	what the program does
 * 	shape.c		modes of histograms that are new
 * 	times.c		how long it takes, as far as the runs show
 * 	pace.c		gaps, depth, starvation, duration
 * 	environment.c	on which machines it ran
 */
#include "analyzer/diff/diff.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/diff/environment.h"
#include "analyzer/diff/pace.h"
#include "analyzer/diff/pair.h"
#include "analyzer/diff/shape.h"
#include "analyzer/diff/structure.h"
#include "analyzer/diff/times.h"
#include "core/wire/log.h"

static int rank_change(const struct diff_change *change)
{
	return (int)change->section * 8 + (DIFF_WORSE - (int)change->verdict);
}

/* By section, regressions first; of two equal ones the one found first. */
static int compare_changes(const void *a, const void *b)
{
	const struct diff_change *x = a, *y = b;
	int by = rank_change(x) - rank_change(y);

	return by ? by : x->found < y->found ? -1 : x->found > y->found;
}

int diff_runs(const struct diff_side *before, const struct diff_side *after, double threshold,
	      struct diff **ret_diff)
{
	struct diff *diff = calloc(1, sizeof(*diff));

	if (!diff)
		return log_err(-ENOMEM, "comparison");
	diff->sides[0] = *before;
	diff->sides[1] = *after;
	diff->threshold = threshold;
	pair_sites(diff);
	if (!diff->no_memory)
		structure_compare(diff);
	if (!diff->no_memory)
		shape_compare(diff);
	if (!diff->no_memory)
		times_compare(diff);
	if (!diff->no_memory)
		pace_compare(diff);
	environment_compare(diff);
	if (diff->no_memory) {
		diff_free(diff);
		return log_err(-ENOMEM, "comparison");
	}
	if (diff->nchanges)
		qsort(diff->changes, diff->nchanges, sizeof(*diff->changes), compare_changes);
	*ret_diff = diff;
	return 0;
}

void diff_free(struct diff *diff)
{
	if (!diff)
		return;
	for (size_t i = 0; i < diff->nchanges; i++) {
		free(diff->changes[i].before_text);
		free(diff->changes[i].after_text);
	}
	free(diff->tests);
	free(diff->changes);
	pair_free(diff);
	free(diff);
}
