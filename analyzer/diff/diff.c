/*
 * Compares two sides with one or more runs each
 *
 * 	pair.c		functions of one run <-> the same functions in the other runs
 * 	structure.c	what the program does
 * 	shape.c		modes of histograms that are new
 * 	times.c		how long it takes, if the runs support a verdict
 * 	pace.c		gaps, depth, starvation, duration
 *
 * This file compares the machines on which the runs were made.
 */
#include "analyzer/diff/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/change.h"
#include "analyzer/diff/compared.h"
#include "analyzer/diff/pace.h"
#include "analyzer/diff/pair.h"
#include "analyzer/diff/shape.h"
#include "analyzer/diff/structure.h"
#include "analyzer/diff/times.h"
#include "core/base/text.h"
#include "core/wire/log.h"

/* A difference of the machines of the runs is never a regression, but may explain one. */

static const char *find_fact(const struct diff_run *run, const char *name)
{
	for (size_t i = 0; i < run->nfacts; i++)
		if (!strcmp(run->facts[i].name, name))
			return run->facts[i].value;
	return NULL;
}

/* The distinct values of the runs of a side. */
static void read_values(const struct diff_side *side, const char *name, struct text *to)
{
	for (size_t i = 0; i < side->n; i++) {
		const char *value = find_fact(side->runs[i], name);
		bool again = false;

		for (size_t k = 0; k < i && !again; k++) {
			const char *its = find_fact(side->runs[k], name);

			again = value && its ? !strcmp(value, its) : value == its;
		}
		if (!again)
			text_addf(to, "%s%s", to->used ? "; " : "", value ? value : "not set");
	}
}

static void compare_fact(struct diff *diff, const char *name)
{
	struct text before = { 0 }, after = { 0 };
	struct diff_change *change = NULL;

	read_values(&diff->sides[0], name, &before);
	read_values(&diff->sides[1], name, &after);
	if (before.failed || after.failed || !before.at || !after.at)
		diff->no_memory = true;
	else if (strcmp(before.at, after.at))
		change = change_add(diff, DIFF_ENVIRONMENT, name);
	if (change)
		change_text(diff, change, before.at, after.at);
	text_fini(&before);
	text_fini(&after);
}

/* Is run @run of @side the first run that has a fact @name? */
static bool is_first(const struct diff *diff, int side, size_t run, const char *name)
{
	for (int s = 0; s <= side; s++)
		for (size_t i = 0; i < (s < side ? diff->sides[s].n : run); i++)
			if (find_fact(diff->sides[s].runs[i], name))
				return false;
	return true;
}

/* Add the facts of the environment that differ between the sides. */
static void compare_environments(struct diff *diff)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct diff_run *run = diff->sides[side].runs[i];

			for (size_t f = 0; f < run->nfacts && !diff->no_memory; f++)
				if (is_first(diff, side, i, run->facts[f].name))
					compare_fact(diff, run->facts[f].name);
		}
}

static int rank_change(const struct diff_change *change)
{
	return (int)change->section * 8 + (DIFF_WORSE - (int)change->verdict);
}

/* Order: by section, regressions first, then in the order in which the changes were found. */
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
	compare_environments(diff);
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
