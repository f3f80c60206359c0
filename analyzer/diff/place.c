/*
 * Which of a function's calls have changed
 *
 * 	places of all runs of a side, by line and caller --> each with its part of the change
 *
 * Places of both sides with the same line and caller are compared; a program that was built from
 * another source has other lines, and its places are compared with the total of the other side.
 */
#include "analyzer/diff/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

struct place_query {
	measure_site *measure; /* of a number; NULL: an attribute, or gaps */
	bool is_count;
	const char *attribute; /* NULL: gaps between `from` and `to` */
	uint64_t from, to;
	bool polls;    /* gaps between polls, and not before posts */
	bool is_share; /* the share of these gaps, not their number */
};

/* The same place in all runs of a side. */
struct tally {
	const struct diff_site *place;
	int side;
	struct measure sum;
};

struct tallies {
	struct tally *all;
	size_t n;
	struct measure sums[2]; /* of a side */
};

static struct measure measure_place(const struct place_query *q, const struct diff_site *place)
{
	const struct histogram *gap = q->polls ? &place->poll_gap : &place->sum.gap;

	if (q->measure)
		return q->measure(place);
	if (q->attribute)
		return (struct measure){ 0 };
	return (struct measure){ (double)histogram_count_between(gap, q->from, q->to),
				 (double)gap->count, 0 };
}

static struct tally *find_tally(const struct tallies *tallies, int side,
				const struct diff_site *place)
{
	for (size_t i = 0; i < tallies->n; i++)
		if (tallies->all[i].side == side && diff_site_equals(tallies->all[i].place, place))
			return &tallies->all[i];
	return NULL;
}

static void add_measure(struct measure *to, const struct measure *m, size_t runs)
{
	to->n += m->n / (double)runs;
	to->of += m->of / (double)runs;
}

static void add_places(struct diff *diff, const struct place_query *q, struct tallies *tallies,
		       int side, const struct diff_site *site)
{
	for (size_t i = 0; i < site->nplaces; i++) {
		const struct diff_site *place = &site->places[i];
		struct measure m = measure_place(q, place);
		struct tally *tally = find_tally(tallies, side, place);

		if (!tally && (tally = vec_push(tallies->all, tallies->n)))
			*tally = (struct tally){ .place = place, .side = side };
		if (!tally) {
			diff->no_memory = true;
			return;
		}
		add_measure(&tally->sum, &m, diff->sides[side].n);
		add_measure(&tallies->sums[side], &m, diff->sides[side].n);
	}
}

static struct tallies tally_places(struct diff *diff, const struct place_query *q,
				   const struct diff_pair *pair)
{
	struct tallies tallies = { 0 };

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++)
			if (pair->of[side][i])
				add_places(diff, q, &tallies, side, pair->of[side][i]);
	return tallies;
}

/*
 * For a count: how close the difference of the place is to the difference of the total; -INFINITY:
 * not known.
 */
static double score_count(const struct tallies *tallies, const struct tally *tally)
{
	double all = tallies->sums[1].n - tallies->sums[0].n, more;
	const struct tally *other = find_tally(tallies, !tally->side, tally->place);

	more = tally->sum.n - (other ? other->sum.n : 0);
	if (tally->side != (all > 0) || more <= 0)
		return -INFINITY;
	return -fabs(fabs(all) - more);
}

/* For a share or a ratio: how many requests, or posts, differ at that place. */
static double score_ratio(const struct tallies *tallies, const struct tally *tally)
{
	const struct tally *other = find_tally(tallies, !tally->side, tally->place);
	const struct measure *a = &tally->sum,
			     *b = other ? &other->sum : &tallies->sums[!tally->side];

	if (a->of <= 0 || (!tally->side && other))
		return -INFINITY;
	return a->of * fabs(a->n / a->of - (b->of > 0 ? b->n / b->of : 0));
}

static const struct diff_attribute *find_values(const struct diff_site *place, const char *name)
{
	for (size_t i = 0; i < place->nattributes; i++)
		if (place->attributes[i].name == name)
			return &place->attributes[i];
	return NULL;
}

static bool has_value(const struct tallies *tallies, int side, const char *name, const char *value)
{
	for (size_t i = 0; i < tallies->n; i++) {
		const struct diff_attribute *values =
			tallies->all[i].side == side ? find_values(tallies->all[i].place, name)
						     : NULL;

		for (size_t k = 0; values && k < values->n; k++)
			if (!strcmp(values->values[k], value))
				return true;
	}
	return false;
}

/* For an attribute: does the place pass a value that the other side never passes? */
static double score_attribute(const struct tallies *tallies, const struct tally *tally,
			      const char *name)
{
	const struct diff_attribute *values = find_values(tally->place, name);

	for (size_t k = 0; values && k < values->n; k++)
		if (!has_value(tallies, !tally->side, name, values->values[k]))
			return 1;
	return -INFINITY;
}

static double score_place(const struct place_query *q, const struct tallies *tallies,
			  const struct tally *tally)
{
	if (q->attribute)
		return score_attribute(tallies, tally, q->attribute);
	if (q->is_count || (!q->measure && !q->is_share))
		return score_count(tallies, tally);
	return score_ratio(tallies, tally);
}

/* The place with the highest rate; if several have it, the first one of the runs after. */
static const struct tally *choose_place(const struct place_query *q, const struct tallies *tallies)
{
	const struct tally *best = NULL;
	double most = -INFINITY;

	for (int side = 1; side >= 0; side--)
		for (size_t i = 0; i < tallies->n; i++) {
			const struct tally *tally = &tallies->all[i];
			double rate =
				tally->side == side ? score_place(q, tallies, tally) : -INFINITY;

			if (rate > most) {
				most = rate;
				best = tally;
			}
		}
	return best;
}

/* The first caller by which two places of one line differ; -1: by none. */
static int compare_callers(const struct diff_site *a, const struct diff_site *b)
{
	for (int c = 0; c < DIFF_CALLERS; c++)
		if (strcmp(a->callers[c], b->callers[c]))
			return c;
	return -1;
}

/*
 * The caller that distinguishes the place from all others of its line; -1: the line is sufficient.
 */
static int find_caller(const struct tallies *tallies, const struct diff_site *place)
{
	int caller = -1;

	for (size_t i = 0; i < tallies->n; i++)
		if (!strcmp(tallies->all[i].place->text, place->text)) {
			int c = compare_callers(tallies->all[i].place, place);

			caller = c > caller ? c : caller;
		}
	while (caller >= 0 && !*place->callers[caller])
		caller--;
	return caller;
}

/* The first text that is known, of the runs after or else those before. */
static const char *find_text(const struct diff *diff, const struct diff_pair *pair)
{
	for (int side = 1; side >= 0; side--)
		for (size_t i = 0; i < diff->sides[side].n; i++)
			if (pair->of[side][i] && *pair->of[side][i]->text)
				return pair->of[side][i]->text;
	return NULL;
}

static bool is_called_after(const struct diff *diff, const struct diff_pair *pair)
{
	for (size_t i = 0; i < diff->sides[1].n; i++)
		if (pair->of[1][i])
			return true;
	return false;
}

/*
 * Is the call that changed only in the runs before? If no place is on both sides, line numbers have
 * changed, and the answer is no.
 */
static bool is_only_before(const struct diff *diff, const struct tallies *tallies,
			   const struct diff_pair *pair, const struct tally *found)
{
	bool same_source = false;

	if (!is_called_after(diff, pair))
		return true;
	for (size_t i = 0; i < tallies->n; i++)
		same_source |=
			find_tally(tallies, !tallies->all[i].side, tallies->all[i].place) != NULL;
	return found && !found->side && same_source && !find_tally(tallies, 1, found->place);
}

static void fill_place(struct diff *diff, const struct place_query *q, struct diff_change *change,
		       const struct diff_pair *pair)
{
	struct tallies tallies = tally_places(diff, q, pair);
	const struct tally *found = choose_place(q, &tallies);
	const char *text = found && *found->place->text ? found->place->text : NULL;
	int caller = text ? find_caller(&tallies, found->place) : -1;
	bool before = is_only_before(diff, &tallies, pair, found);

	if (!text)
		text = find_text(diff, pair);
	snprintf(change->place, sizeof(change->place), "%s, %s%s%s%s", verb_infos[pair->verb].name,
		 text ?: "unknown place",
		 caller < 0 ? ""
		 : caller   ? ", below "
			    : ", called by ",
		 caller < 0 ? "" : found->place->callers[caller], before ? ", only before" : "");
	free(tallies.all);
}

void place_set_for_number(struct diff *diff, struct diff_change *change,
			  const struct diff_pair *pair, measure_site *measure, bool is_count)
{
	fill_place(diff, &(struct place_query){ .measure = measure, .is_count = is_count }, change,
		   pair);
}

void place_set_for_attribute(struct diff *diff, struct diff_change *change,
			     const struct diff_pair *pair, const char *name)
{
	fill_place(diff, &(struct place_query){ .attribute = name }, change, pair);
}

void place_set_for_percentile(struct diff *diff, struct diff_change *change,
			      const struct diff_pair *pair, bool polls)
{
	uint64_t middle = (uint64_t)sqrt(fmax(change->before, 1) * fmax(change->after, 1));
	bool more = change->after > change->before;

	fill_place(diff,
		   &(struct place_query){ .polls = polls,
					  .is_share = true,
					  .from = more ? middle : 0,
					  .to = more ? UINT64_MAX : middle },
		   change, pair);
}

void place_set_for_gap(struct diff *diff, struct diff_change *change, const struct diff_pair *pair,
		       uint64_t from, uint64_t to)
{
	fill_place(diff, &(struct place_query){ .from = from, .to = to }, change, pair);
}
