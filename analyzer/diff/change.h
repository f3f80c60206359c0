#pragma once
/*
 * What the parts of a comparison share. For the files of this folder. One thread.
 */
#include "analyzer/diff/compared.h"

/* A number of each run of a side. */
struct spread {
	size_t n;
	double least, most, mean;
	bool known; /* all runs have it */
};

/* NAN: a run does not have it. */
void spread_begin(struct spread *spread);
void spread_add(struct spread *spread, double value);

/* Are both known, and no value of a run lies among the other side's? */
bool spread_apart(const struct spread *a, const struct spread *b);

/* How much worse @after is, in percent, or points of a share; below 0: better. */
double spread_worse(const struct spread *before, const struct spread *after, enum diff_unit unit,
		    int worse);

/* A change that is added; NULL without memory. @worse: percent, or 0 with @neutral. */
struct diff_change *change_add(struct diff *diff, enum diff_section section, const char *what);

/* By @worse percent: a regression beyond the threshold. */
void change_judge(struct diff *diff, struct diff_change *change, double worse);

/* Fill in a number, or a text, before and after. */
void change_number(struct diff_change *change, enum diff_unit unit, const struct spread *before,
		   const struct spread *after);
void change_text(struct diff *diff, struct diff_change *change, const char *before,
		 const char *after);
