#pragma once
/*
 * Shared by the parts of a comparison. For the files of this folder. Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* One value for each run of a side. */
struct spread {
	size_t n;
	double least, most, mean;
	bool known; /* all runs have the value */
};

/* Add one value per run; NAN: the run has no such value. */
void spread_begin(struct spread *spread);
void spread_add(struct spread *spread, double value);

/* Are both spreads known, and are their ranges disjoint? */
bool spread_is_disjoint(const struct spread *a, const struct spread *b);

/* How much worse @after is, in percent, or percentage points for a share; below 0: better. */
double spread_worst(const struct spread *before, const struct spread *after, enum diff_unit unit,
		    int worse);

/* Add a change without values, which the caller sets; NULL if out of memory. */
struct diff_change *change_add(struct diff *diff, enum diff_section section, const char *what);

/*
 * Note a number that did not change or was not judged. The caller has set because, share and
 * could_see of @test.
 */
void change_add_test(struct diff *diff, const char *what, const struct diff_pair *pair,
		     const struct diff_test *test);

/* Set the verdict: a regression if @worse, in percent, exceeds the threshold. */
void change_set_verdict(struct diff *diff, struct diff_change *change, double worse);

/* Set a number, or a text, before and after. */
void change_number(struct diff_change *change, enum diff_unit unit, const struct spread *before,
		   const struct spread *after);
void change_text(struct diff *diff, struct diff_change *change, const char *before,
		 const char *after);
