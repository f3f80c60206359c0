#pragma once
/*
 * Which of a function's calls have changed. For the files of this folder.
 *
 * A function may call a verb at several lines, and be called from several: each is a place of its
 * site. The place of a change is the one that accounts for it best, on the side that has it: the
 * runs after, or those before where it is a call that the runs after do not make.
 *
 * One thread.
 */
#include "analyzer/diff/compared.h"

/* Of all sites of one run, or one: what is counted, and of how many. */
struct measure {
	double n, of, most;
};

typedef struct measure measure_site(const struct diff_site *site);

/* Fill in the place of a change of a number, which is a count or else a share or a ratio. */
void place_number(struct diff *diff, struct diff_change *change, const struct diff_pair *pair,
		  measure_site *measure, bool is_count);

/* Of the attribute @name. */
void place_attribute(struct diff *diff, struct diff_change *change, const struct diff_pair *pair,
		     const char *name);

/* Of gaps from @from to @to that are new. */
void place_gap(struct diff *diff, struct diff_change *change, const struct diff_pair *pair,
	       uint64_t from, uint64_t to);
