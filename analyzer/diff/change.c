/* Functions for all parts of a comparison: numbers of several runs, and changes */
#include "analyzer/diff/change.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

void spread_begin(struct spread *spread)
{
	*spread = (struct spread){ .known = true };
}

void spread_add(struct spread *spread, double value)
{
	if (isnan(value)) {
		spread->known = false;
		return;
	}
	if (!spread->n || value < spread->least)
		spread->least = value;
	if (!spread->n || value > spread->most)
		spread->most = value;
	spread->mean += (value - spread->mean) / (double)++spread->n;
}

bool spread_is_disjoint(const struct spread *a, const struct spread *b)
{
	return a->known && b->known && a->n && b->n && (a->most < b->least || b->most < a->least);
}

double spread_worst(const struct spread *before, const struct spread *after, enum diff_unit unit,
		    int worse)
{
	double by = (after->mean - before->mean) * worse;

	if (unit == DIFF_SHARE || by == 0)
		return by;
	return before->mean == 0 ? (by > 0 ? INFINITY : -INFINITY) : by * 100 / before->mean;
}

struct diff_change *change_add(struct diff *diff, enum diff_section section, const char *what)
{
	struct diff_change *change = vec_push(diff->changes, diff->nchanges);

	if (!change) {
		diff->no_memory = true;
		return NULL;
	}
	change->found = diff->nchanges;
	change->section = section;
	change->verdict = DIFF_CHANGED;
	snprintf(change->what, sizeof(change->what), "%s", what);
	return change;
}

void change_add_test(struct diff *diff, const char *what, const struct diff_pair *pair,
		     const struct diff_test *test)
{
	struct diff_test *made = vec_push(diff->tests, diff->ntests);

	if (!made) {
		diff->no_memory = true;
		return;
	}
	*made = *test;
	snprintf(made->what, sizeof(made->what), "%s", what);
	if (!pair)
		return;
	/* NULL for a control verb: the function creates the CQ whose polls are compared */
	made->verb =
		verb_infos[pair->verb].plane == PLANE_DATA ? verb_infos[pair->verb].name : NULL;
	snprintf(made->of, sizeof(made->of), "%s", pair->function);
}

void change_set_verdict(struct diff *diff, struct diff_change *change, double worse)
{
	if (worse > diff->threshold)
		change->verdict = DIFF_WORSE;
	else if (-worse > diff->threshold)
		change->verdict = DIFF_BETTER;
	diff->regressions += change->verdict == DIFF_WORSE;
}

void change_number(struct diff_change *change, enum diff_unit unit, const struct spread *before,
		   const struct spread *after)
{
	change->unit = unit;
	change->before = before->mean;
	change->after = after->mean;
}

void change_text(struct diff *diff, struct diff_change *change, const char *before,
		 const char *after)
{
	change->unit = DIFF_TEXT;
	change->before_text = strdup(before);
	change->after_text = strdup(after);
	if (!change->before_text || !change->after_text)
		diff->no_memory = true;
}
