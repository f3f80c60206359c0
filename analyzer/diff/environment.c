/*
 * Facts about the machines of the runs: a difference is never a regression, but may explain one
 */
#include "analyzer/diff/environment.h"

#include <string.h>

#include "analyzer/diff/change.h"
#include "core/base/text.h"

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

/* Is the @fact of run @run of @side the first of its name? */
static bool is_first(const struct diff *diff, int side, size_t run, const char *name)
{
	for (int s = 0; s <= side; s++)
		for (size_t i = 0; i < (s < side ? diff->sides[s].n : run); i++)
			if (find_fact(diff->sides[s].runs[i], name))
				return false;
	return true;
}

void environment_compare(struct diff *diff)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct diff_run *run = diff->sides[side].runs[i];

			for (size_t f = 0; f < run->nfacts && !diff->no_memory; f++)
				if (is_first(diff, side, i, run->facts[f].name))
					compare_fact(diff, run->facts[f].name);
		}
}
