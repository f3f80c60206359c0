#pragma once
/*
 * Finds which calls of a function have changed. For the files of this folder.
 *
 * A function may call a verb at several lines, and be called from several: each combination is a
 * place of its site. The place of a change is the one that explains most of it, on the side that
 * has it: the runs after, or those before if the runs after do not make the call.
 *
 * Not thread-safe.
 */
#include "analyzer/diff/compared.h"

/* A value of one place, or the sum over places: n of a total, and the largest single one. */
struct measure {
	double n, of, most;
};

typedef struct measure measure_site(const struct diff_site *site);

/* Set the place of a change of a number, which is a count, a share or a ratio. */
void place_set_for_number(struct diff *diff, struct diff_change *change,
			  const struct diff_pair *pair, measure_site *measure, bool is_count);

/* Set the place at which attribute @name has changed most. */
void place_set_for_attribute(struct diff *diff, struct diff_change *change,
			     const struct diff_pair *pair, const char *name);

/*
 * The same for a percentile of gaps (between polls if @polls, else before posts): the place where
 * most gaps moved from below the middle of the change's two values to above, or back. One long gap
 * in the set-up would move a mean, but not this.
 */
void place_set_for_percentile(struct diff *diff, struct diff_change *change,
			      const struct diff_pair *pair, bool polls);

/* The same for new gaps from @from to @to. */
void place_set_for_gap(struct diff *diff, struct diff_change *change, const struct diff_pair *pair,
		       uint64_t from, uint64_t to);
