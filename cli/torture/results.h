#pragma once
/*
 * The verdicts of all runs as a report. One thread.
 */
#include "cli/torture/verdict.h"

struct result {
	const struct failure *failure;
	struct judgement judgement;
	uint64_t took; /* ns */
	bool done;     /* it was run */
};

struct results {
	struct result *all; /* one for each failure, in their order */
	size_t n;
	char *const *program;
	const char *folder; /* with the traces of those that are bad */
	bool every;         /* --every, to repeat one */
};

/* Was a failure not handled? */
bool results_are_bad(const struct results *results);

/* Sort by verdict, alike ones behind the first of them, and print. 0 or -errno. */
int results_print_text(const struct results *results);
int results_print_json(const struct results *results);
int results_print_junit(const struct results *results);
