/*
 * The same function in all runs of both sides
 *
 * Sites are paired by verb and function. If, of the functions that call a verb, exactly one is only
 * in the runs before, and exactly one only in the runs after, the function was renamed. If the
 * function is known in some runs only (their program is gone, or was rebuilt since), all calls of
 * the verb are one site.
 */
#include "analyzer/diff/pair.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

static struct diff_pair *find_pair(struct diff *diff, enum verb verb, const char *function)
{
	for (size_t i = 0; i < diff->npairs; i++)
		if (diff->pairs[i].verb == verb && !strcmp(diff->pairs[i].function, function))
			return &diff->pairs[i];
	return NULL;
}

static struct diff_pair *add_pair(struct diff *diff, const struct diff_site *site)
{
	struct diff_pair *pair = vec_push(diff->pairs, diff->npairs);

	if (!pair)
		return NULL;
	pair->verb = site->verb;
	pair->function = site->function;
	for (int side = 0; side < 2; side++)
		pair->of[side] = calloc(diff->sides[side].n, sizeof(*pair->of[side]));
	return pair->of[0] && pair->of[1] ? pair : NULL;
}

static void pair_run(struct diff *diff, int side, size_t run)
{
	const struct diff_run *of = diff->sides[side].runs[run];

	for (size_t i = 0; i < of->nsites; i++) {
		const struct diff_site *site = &of->sites[i];
		struct diff_pair *pair = find_pair(diff, site->verb, site->function);

		if (!pair)
			pair = add_pair(diff, site);
		if (!pair) {
			diff->no_memory = true;
			return;
		}
		pair->of[side][run] = site;
	}
}

/* Functions that are not known */

/* Bit 0: @run has unknown functions that call @verb; bit 1: it has known ones. */
static unsigned int find_known_sites(const struct diff_run *run, enum verb verb)
{
	unsigned int has = 0;

	for (size_t i = 0; i < run->nsites; i++)
		if (run->sites[i].verb == verb)
			has |= *run->sites[i].function ? 2 : 1;
	return has;
}

/* Do some runs know all functions that call @verb, and others not? */
static bool has_mixed_runs(const struct diff *diff, enum verb verb)
{
	bool unknown = false, whole = false;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			unsigned int has = find_known_sites(diff->sides[side].runs[i], verb);

			unknown |= has & 1;
			whole |= has == 2;
		}
	return unknown && whole;
}

static void merge_sites_of_verb(struct diff *diff, enum verb verb)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++)
			if (diff_run_join(diff->sides[side].runs[i], verb))
				diff->no_memory = true;
}

/* Renamed functions */

static bool is_on_side(const struct diff *diff, const struct diff_pair *pair, int side)
{
	for (size_t i = 0; i < diff->sides[side].n; i++)
		if (pair->of[side][i])
			return true;
	return false;
}

/* The only function that calls @verb on @side alone, or NULL. */
static struct diff_pair *find_one_sided(const struct diff *diff, enum verb verb, int side)
{
	struct diff_pair *found = NULL;

	for (size_t i = 0; i < diff->npairs; i++) {
		struct diff_pair *pair = &diff->pairs[i];

		if (pair->verb != verb || !is_on_side(diff, pair, side) ||
		    is_on_side(diff, pair, !side))
			continue;
		if (found)
			return NULL;
		found = pair;
	}
	return found;
}

static void free_pair(struct diff_pair *pair)
{
	free(pair->of[0]);
	free(pair->of[1]);
}

static void join_renamed(struct diff *diff, enum verb verb)
{
	struct diff_pair *before = find_one_sided(diff, verb, 0),
			 *after = find_one_sided(diff, verb, 1);

	if (!before || !after)
		return;
	memcpy(before->of[1], after->of[1], diff->sides[1].n * sizeof(*after->of[1]));
	free_pair(after);
	*after = diff->pairs[--diff->npairs];
}

void pair_sites(struct diff *diff)
{
	for (int v = 0; v < VERB_COUNT; v++)
		if (has_mixed_runs(diff, (enum verb)v))
			merge_sites_of_verb(diff, (enum verb)v);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n && !diff->no_memory; i++)
			pair_run(diff, side, i);
	for (int v = 0; v < VERB_COUNT && !diff->no_memory; v++)
		join_renamed(diff, (enum verb)v);
}

void pair_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->npairs; i++)
		free_pair(&diff->pairs[i]);
	free(diff->pairs);
}
