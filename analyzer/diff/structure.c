/*
 * What a program does, without its times
 *
 * 	attributes	that calls gave to objects: the sets of values differ
 * 	shares		requests inline, signalled: by more than chance does
 * 	counts		calls, calls while posting: neither the total nor the number per request
 * 			is the same, so that a run may be longer than another
 * 	batches		requests per doorbell, completions per poll: a busy machine makes these
 * 			larger, so the mean of one side must exceed the largest of the other; or
 * 			three runs per side must be far apart
 */
#include "analyzer/diff/structure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/diff/change.h"
#include "analyzer/diff/place.h"
#include "core/base/text.h"

enum {
	CHANCE_DEVIATIONS = 4, /* standard deviations */
	LEAST_BATCHES = 50,    /* batches below which the largest is not meaningful */
	LEAST_RUNS = 3,        /* runs per side below which the spread is not meaningful */
	SAME_POINTS = 1,       /* shares that differ by less count as equal */
	SAME_PERCENT = 2       /* numbers that differ by less count as equal */
};

enum kind { SHARE, COUNT, BATCH };

struct metric {
	const char *name; /* NULL: made of the verb's name */
	enum kind kind;
	int worse;
	measure_site *measure;
	bool (*applies)(enum verb verb);
};

static struct measure measure_list(const struct diff_site *site)
{
	return (struct measure){ (double)site->sum.requests, (double)site->sum.posts,
				 site->sum.longest };
}

static struct measure measure_inline(const struct diff_site *site)
{
	return (struct measure){ (double)site->sum.inlined, (double)site->sum.requests, 0 };
}

static struct measure measure_signalled(const struct diff_site *site)
{
	return (struct measure){ (double)site->sum.signalled, (double)site->sum.judged, 0 };
}

static struct measure measure_polls(const struct diff_site *site)
{
	return (struct measure){ (double)site->completions, (double)site->polls, site->most };
}

static struct measure measure_posting(const struct diff_site *site)
{
	return (struct measure){ (double)site->sum.posting, 1, 0 };
}

static struct measure measure_failed(const struct diff_site *site)
{
	return (struct measure){ (double)site->sum.errors, 1, 0 };
}

static struct measure measure_calls(const struct diff_site *site)
{
	return (struct measure){ (double)site->sum.calls, 1, 0 };
}

static bool is_post(enum verb verb)
{
	return verb_infos[verb].plane == PLANE_DATA;
}

static bool makes_cq(enum verb verb)
{
	return verb_infos[verb].effect == EFFECT_CREATE && verb_infos[verb].object == OBJECT_cq;
}

/*
 * Is @verb a control verb that the program alone calls so often? Not a wait for an event, nor an
 * acknowledgement.
 */
static bool is_control(enum verb verb)
{
	return verb_infos[verb].plane == PLANE_CONTROL && !verb_infos[verb].blocks &&
	       verb_infos[verb].effect != EFFECT_ACK;
}

/* clang-format off */
static const struct metric metrics[] = {
	{ "requests a doorbell",  BATCH, -1, measure_list,      is_post },
	{ "inline",               SHARE, -1, measure_inline,    verb_is_send },
	{ "signalled",            SHARE,  1, measure_signalled, verb_is_send },
	{ "completions a poll",   BATCH, -1, measure_polls,     makes_cq },
	{ " while posting",       COUNT,  1, measure_posting,   is_control },
	{ "calls that failed",    COUNT,  1, measure_failed,    is_control },
	{ "calls",                COUNT,  0, measure_calls,     is_control },
};
/* clang-format on */

enum { METRICS = sizeof(metrics) / sizeof(metrics[0]), LISTS = 0 };

/* The values of a metric over all runs of a side. */
struct numbers {
	struct spread value, each; /* each: a count per request */
	struct spread most;
	double of; /* of a share: the total */
};

static void add_numbers(struct numbers *to, const struct metric *metric, struct measure m,
			const struct profile *profile)
{
	double requests = (double)(profile->send.requests + profile->receive.requests);

	spread_add(&to->value, m.of > 0 ? m.n / m.of * (metric->kind == SHARE ? 100 : 1) : NAN);
	spread_add(&to->each, requests > 0 ? m.n / requests : NAN);
	spread_add(&to->most, m.most);
	to->of += m.of;
}

static struct numbers measure_side(const struct diff_side *side, const struct diff_site *const *of,
				   const struct metric *metric)
{
	struct numbers to = { 0 };

	spread_begin(&to.value);
	spread_begin(&to.each);
	spread_begin(&to.most);
	for (size_t i = 0; i < side->n; i++) {
		struct measure m = { 0, metric->kind == COUNT, 0 };

		if (of[i])
			m = metric->measure(of[i]);
		add_numbers(&to, metric, m, side->runs[i]->profile);
	}
	return to;
}

static bool is_similar(const struct spread *a, const struct spread *b)
{
	double larger = fmax(fabs(a->mean), fabs(b->mean));

	return !spread_is_disjoint(a, b) || fabs(a->mean - b->mean) * 100 <= SAME_PERCENT * larger;
}

/* Could the difference of two shares be chance? Each request counts as independent. */
static bool may_be_chance(const struct numbers *a, const struct numbers *b)
{
	double p = (a->value.mean * a->of + b->value.mean * b->of) / (a->of + b->of) / 100;
	double points = 100 * CHANCE_DEVIATIONS * sqrt(p * (1 - p) * (1 / a->of + 1 / b->of));

	return fabs(a->value.mean - b->value.mean) <= fmax(points, SAME_POINTS);
}

/* Are batches of another size due to the program, rather than a busy machine? */
static bool is_significant(const struct numbers *a, const struct numbers *b)
{
	const struct numbers *low = a->value.mean < b->value.mean ? a : b, *high = low == a ? b : a;
	double gap = high->value.least - low->value.most;
	double range =
		fmax(high->value.most - high->value.least, low->value.most - low->value.least);

	if (low->of >= LEAST_BATCHES && high->of >= LEAST_BATCHES &&
	    high->value.least > low->most.most)
		return true;
	return a->value.n >= LEAST_RUNS && b->value.n >= LEAST_RUNS && gap > 2 * range;
}

static bool is_beyond_chance(const struct numbers *a, const struct numbers *b)
{
	return fabs(a->value.mean - b->value.mean) >
	       CHANCE_DEVIATIONS * sqrt(fmax(a->value.mean + b->value.mean, 0));
}

enum found { SAME, UNSURE, DIFFERENT };

static enum found compare_numbers(const struct metric *metric, const struct numbers *a,
				  const struct numbers *b)
{
	if (is_similar(&a->value, &b->value))
		return SAME;
	switch (metric->kind) {
	case SHARE:
		return may_be_chance(a, b) ? SAME : DIFFERENT;
	case BATCH:
		return is_significant(a, b) ? DIFFERENT : UNSURE;
	default:
		if (a->each.known && b->each.known && is_similar(&a->each, &b->each))
			return SAME;
		return metric->worse && !is_beyond_chance(a, b) ? UNSURE : DIFFERENT;
	}
}

static void name_metric(const struct metric *metric, enum verb verb, char name[96])
{
	const struct verb_info *info = &verb_infos[verb];

	if (metric->name[0] != ' ')
		snprintf(name, 96, "%s", metric->name);
	else if (info->effect == EFFECT_CREATE && info->object == OBJECT_mr)
		snprintf(name, 96, "registrations%s", metric->name);
	else
		snprintf(name, 96, "%s%s", info->name, metric->name);
}

/* The time that calls took while posting, in the runs after. */
static void note_time(const struct diff *diff, struct diff_change *change,
		      const struct diff_pair *pair)
{
	const struct diff_side *after = &diff->sides[1];
	double ns = 0;

	for (size_t i = 0; i < after->n; i++)
		ns += pair->of[1][i] ? (double)pair->of[1][i]->sum.posting_ns : 0;
	if (ns > 0)
		snprintf(change->note, sizeof(change->note), "%.3g ms in them",
			 ns / 1e6 / (double)after->n);
}

/*
 * Programs signal the last request of a list: if the lists have another length, another share is
 * signalled; that says nothing about needless completions.
 */
static bool follows_lists(const struct diff *diff, const struct metric *metric,
			  const struct diff_pair *pair)
{
	struct numbers a, b;

	if (metric->measure != measure_signalled)
		return false;
	a = measure_side(&diff->sides[0], pair->of[0], &metrics[LISTS]);
	b = measure_side(&diff->sides[1], pair->of[1], &metrics[LISTS]);
	return compare_numbers(&metrics[LISTS], &a, &b) == DIFFERENT;
}

/* Returns whether it is a change. */
static bool add_metric(struct diff *diff, const struct metric *metric, const struct diff_pair *pair)
{
	struct numbers a = measure_side(&diff->sides[0], pair->of[0], metric);
	struct numbers b = measure_side(&diff->sides[1], pair->of[1], metric);
	enum found found = compare_numbers(metric, &a, &b);
	enum diff_unit unit = metric->kind == SHARE   ? DIFF_SHARE
			      : metric->kind == BATCH ? DIFF_RATIO
						      : DIFF_COUNT;
	double worse = spread_worst(&a.value, &b.value, unit, metric->worse);
	struct diff_change *change;
	char name[96];

	if (found == SAME || (found == UNSURE && worse <= diff->threshold))
		return false;
	name_metric(metric, pair->verb, name);
	change = change_add(diff, DIFF_STRUCTURE, name);
	if (!change)
		return false;
	change_number(change, unit, &a.value, &b.value);
	place_set_for_number(diff, change, pair, metric->measure, metric->kind == COUNT);
	if (metric->measure == measure_posting)
		note_time(diff, change, pair);
	if (metric->measure == measure_polls)
		snprintf(change->note, sizeof(change->note),
			 "of the queues created at this place: polls are recorded without a stack");
	if (found == UNSURE) {
		change->verdict = DIFF_UNCLEAR;
		snprintf(change->note, sizeof(change->note), "%s",
			 metric->kind == BATCH ? "a busy machine can cause this too" : "too few");
	} else if (follows_lists(diff, metric, pair)) {
		snprintf(change->note, sizeof(change->note),
			 "not judged: the lists of requests differ in length");
	} else {
		change_set_verdict(diff, change, worse);
	}
	return true;
}

/*
 * Are the counts of both sides comparable: no events are missing, and the same events were
 * recorded?
 */
static bool has_counts(const struct diff *diff)
{
	size_t filtered = 0, all = 0;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct diff_run *run = diff->sides[side].runs[i];

			if (run->lossy)
				return false;
			filtered += run->profile->filtered;
			all++;
		}
	return !filtered || filtered == all;
}

static void compare_metrics(struct diff *diff, const struct diff_pair *pair, bool counts)
{
	bool told = false;

	for (int m = 0; m < METRICS; m++) {
		const struct metric *metric = &metrics[m];

		if (!metric->applies(pair->verb) || (metric->kind == COUNT && !counts))
			continue;
		if (metric->measure != measure_calls || !told)
			told |= add_metric(diff, metric, pair);
	}
}

/* Attributes */

static const struct diff_attribute *find_attribute(const struct diff_site *site, const char *name)
{
	for (size_t i = 0; site && i < site->nattributes; i++)
		if (site->attributes[i].name == name)
			return &site->attributes[i];
	return NULL;
}

static void add_values(struct text *to, const struct diff_attribute *attribute)
{
	for (size_t i = 0; attribute && i < attribute->n; i++) {
		if (to->used > 60) {
			text_addf(to, ", ...");
			return;
		}
		text_addf(to, "%s%s", i ? ", " : "", attribute->values[i]);
	}
	if (!attribute)
		text_addf(to, "not set");
}

/* The attribute's values in all runs of a side; false: they differ, or a run lacks the function. */
static bool read_values(const struct diff_side *side, const struct diff_site *const *of,
			const char *name, struct text *to)
{
	for (size_t i = 0; i < side->n; i++) {
		struct text its = { 0 };
		bool same;

		if (!of[i])
			return false;
		add_values(i ? &its : to, find_attribute(of[i], name));
		same = !i || (its.at && to->at && !strcmp(its.at, to->at));
		text_fini(&its);
		if (!same)
			return false;
	}
	return to->at && !to->failed;
}

/* "1024" of "IBV_MTU_1024"; false: it is not a single number. */
static bool read_number(const char *text, double *ret_number)
{
	const char *line = strrchr(text, '_');
	char *end;

	text = line ? line + 1 : text;
	*ret_number = strtod(text, &end);
	return end > text && !*end;
}

static void set_attribute_verdict(struct diff *diff, struct diff_change *change,
				  const struct attribute_info *info, const char *before,
				  const char *after)
{
	struct spread a, b;
	double from, to;

	if (!info->worse || !read_number(before, &from) || !read_number(after, &to))
		return;
	spread_begin(&a);
	spread_begin(&b);
	spread_add(&a, from);
	spread_add(&b, to);
	change_set_verdict(diff, change, spread_worst(&a, &b, DIFF_COUNT, info->worse));
}

static void compare_attribute(struct diff *diff, const struct diff_pair *pair, const char *name)
{
	struct text before = { 0 }, after = { 0 };
	bool known = read_values(&diff->sides[0], pair->of[0], name, &before) &&
		     read_values(&diff->sides[1], pair->of[1], name, &after);
	struct diff_change *change = known && strcmp(before.at, after.at)
					     ? change_add(diff, DIFF_STRUCTURE, name)
					     : NULL;

	if (change) {
		change_text(diff, change, before.at, after.at);
		place_set_for_attribute(diff, change, pair, name);
		set_attribute_verdict(diff, change, attribute_find(name), before.at, after.at);
	}
	text_fini(&before);
	text_fini(&after);
}

/*
 * The attributes of the first run of each side: those that differ within a side are not a change.
 */
static void compare_attributes(struct diff *diff, const struct diff_pair *pair)
{
	const struct diff_site *before = pair->of[0][0], *after = pair->of[1][0];

	for (size_t i = 0; before && i < before->nattributes; i++)
		compare_attribute(diff, pair, before->attributes[i].name);
	for (size_t i = 0; before && after && i < after->nattributes; i++)
		if (!find_attribute(before, after->attributes[i].name))
			compare_attribute(diff, pair, after->attributes[i].name);
}

static void compare_errors(struct diff *diff)
{
	struct spread spreads[2];
	struct diff_change *change;

	for (int side = 0; side < 2; side++) {
		spread_begin(&spreads[side]);
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct profile *profile = diff->sides[side].runs[i]->profile;

			spread_add(&spreads[side], (double)(profile->errors - profile->flushed));
		}
	}
	if (!spread_is_disjoint(&spreads[0], &spreads[1]))
		return;
	change = change_add(diff, DIFF_STRUCTURE, "completions in error");
	if (!change)
		return;
	change_number(change, DIFF_COUNT, &spreads[0], &spreads[1]);
	snprintf(change->note, sizeof(change->note), "see 'verbatim check'");
	change_set_verdict(diff, change, spread_worst(&spreads[0], &spreads[1], DIFF_COUNT, 1));
}

void structure_compare(struct diff *diff)
{
	bool counts = has_counts(diff);

	diff->counted = counts;
	for (size_t i = 0; i < diff->npairs && !diff->no_memory; i++)
		compare_attributes(diff, &diff->pairs[i]);
	for (size_t i = 0; i < diff->npairs && !diff->no_memory; i++)
		compare_metrics(diff, &diff->pairs[i], counts);
	compare_errors(diff);
}
