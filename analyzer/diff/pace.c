/*
 * How a run paces itself
 *
 * 	gaps		between two posts of a function, between two polls of a CQ
 * 	depth		requests outstanding: mean over time, and maximum
 * 	starvation	receive queues that were empty, messages that waited for a receive
 * 	duration	of the run
 *
 * There are many of these numbers, and all depend on the load of the machine. So a change must pass
 * three tests: the interval of 99 % does not contain 0; the distance between the sides is greater
 * than the range of either side (sample.c); the nearest runs differ by more than the threshold.
 * With one run per side the numbers are shown, without a verdict, if they differ by a factor of
 * two.
 *
 * Most changes are neither better nor worse: a program that posts lists has longer gaps, too.
 */
#include "analyzer/diff/pace.h"

#include <math.h>
#include <stdio.h>

#include "analyzer/diff/change.h"
#include "analyzer/diff/place.h"
#include "analyzer/diff/sample.h"

enum {
	MEDIAN_GAPS = 30,          /* gaps that a run needs for a median */
	P99_GAPS = 1000,           /* gaps that a run needs for a 99th percentile */
	LONG_GAP_NS = 500000,      /* ns: gaps that shape.c ignores */
	BUSY_GAP_NS = 1000,        /* ns: shorter gaps between polls: a busy loop */
	SHORTEST_RUN_NS = 1000000, /* ns: shorter runs are not compared */
	GREAT_DIFFERENCE =
		20,       /* percentage points: a great difference of shares, one run per side */
	SAME_PERCENT = 2, /* runs whose numbers of requests differ by no more did the same work */
};

/* A figure of a run, or of one of its sites; NAN: not known. */
typedef double pace_of_run(const struct diff_run *run);
typedef double pace_of_site(const struct diff_site *site);

struct pace {
	const char *name;
	enum diff_unit unit;
	int worse;
	double least; /* if neither side exceeds it, there is no change */
	pace_of_run *run;
	pace_of_site *site; /* either this or `run`; the other is NULL */
	bool (*applies)(enum verb verb);
	measure_site *measure; /* of a share, to find its place; NULL: a percentile of gaps */
};

static double find_percentile(const struct histogram *h, double percent, uint64_t least)
{
	return h->count >= least ? fmax(1, (double)histogram_percentile(h, percent)) : NAN;
}

static double median_post_gap(const struct diff_site *site)
{
	return find_percentile(&site->sum.gap, 50, MEDIAN_GAPS);
}

static double p99_post_gap(const struct diff_site *site)
{
	return find_percentile(&site->sum.gap, 99, P99_GAPS);
}

static double median_poll_gap(const struct diff_site *site)
{
	return find_percentile(&site->poll_gap, 50, MEDIAN_GAPS);
}

static double p90_poll_gap(const struct diff_site *site)
{
	return find_percentile(&site->poll_gap, 90, MEDIAN_GAPS);
}

/* The time in gaps of LONG_GAP_NS and more. */
static double sum_long(const struct histogram *h)
{
	uint64_t from, to;
	double sum = 0;

	for (unsigned int i = histogram_class_of(LONG_GAP_NS); i < HISTOGRAM_CLASSES; i++) {
		double n = (double)histogram_count_class(h, i, &from, &to);

		sum += n > 0 ? n * ((double)from + (double)to) / 2 : 0;
	}
	return fmin(sum, (double)h->total);
}

static double long_gap_share(const struct diff_site *site)
{
	const struct histogram *gap = &site->sum.gap;

	return gap->count >= MEDIAN_GAPS && gap->total ? 100 * sum_long(gap) / (double)gap->total
						       : NAN;
}

static struct measure measure_long(const struct diff_site *site)
{
	return (struct measure){ sum_long(&site->sum.gap), (double)site->sum.gap.total, 0 };
}

static bool is_post(enum verb verb)
{
	return verb_infos[verb].plane == PLANE_DATA;
}

static bool makes_cq(enum verb verb)
{
	return verb_infos[verb].effect == EFFECT_CREATE && verb_infos[verb].object == OBJECT_cq;
}

/* Depth, of all queues of a run together */

struct depths {
	double area, ns, empty_ns;
	uint32_t high;
};

static struct depths sum_depths(const struct diff_run *run, bool send)
{
	const struct profile *profile = run->profile;
	struct depths sum = { 0 };

	for (size_t i = 0; i < profile->nobjects; i++) {
		const struct profile_queue *queue = profile->queues[i];
		const struct profile_side *side =
			queue ? send ? &queue->send : &queue->receive : NULL;

		if (!side || profile_mean_depth(side) < 0)
			continue;
		sum.area += side->depth.area;
		sum.ns += (double)side->depth.ns;
		sum.empty_ns += (double)side->depth.empty_ns;
		if (side->high > sum.high)
			sum.high = side->high;
	}
	return sum;
}

static double mean_sends(const struct diff_run *run)
{
	struct depths depths = sum_depths(run, true);

	return depths.area > 0 ? depths.area / depths.ns : NAN;
}

static double mean_receives(const struct diff_run *run)
{
	struct depths depths = sum_depths(run, false);

	return depths.area > 0 ? depths.area / depths.ns : NAN;
}

static double most_sends(const struct diff_run *run)
{
	struct depths depths = sum_depths(run, true);

	return depths.high ? depths.high : NAN;
}

static double share_without_receive(const struct diff_run *run)
{
	struct depths depths = sum_depths(run, false);

	return depths.ns > 0 ? 100 * depths.empty_ns / depths.ns : NAN;
}

static double share_starved(const struct diff_run *run)
{
	const struct profile *profile = run->profile;
	double n = (double)profile_starved(profile).messages;

	if (run->lossy || profile->filtered || profile->one_of > 1)
		return NAN;
	return profile->receive.requests ? 100 * n / (double)profile->receive.requests : NAN;
}

static double find_duration(const struct diff_run *run)
{
	return run->profile->duration > 0 ? (double)run->profile->duration : NAN;
}

/* clang-format off */
static const struct pace paces[] = {
	{ "gap before a post p50", DIFF_NS, 0, 0, NULL, median_post_gap, is_post, NULL },
	{ "gap before a post p99", DIFF_NS, 0, 0, NULL, p99_post_gap, is_post, NULL },
	{ "in gaps of 500 us and more", DIFF_SHARE, 0, 0, NULL, long_gap_share, is_post,
	  measure_long },
	{ "gap between polls p50", DIFF_NS, 0, BUSY_GAP_NS, NULL, median_poll_gap, makes_cq, NULL },
	{ "gap between polls p90", DIFF_NS, 0, BUSY_GAP_NS, NULL, p90_poll_gap, makes_cq, NULL },
	{ "sends outstanding, mean", DIFF_RATIO, 0, 0, mean_sends, NULL, NULL, NULL },
	{ "sends outstanding, most", DIFF_COUNT, 0, 0, most_sends, NULL, NULL, NULL },
	{ "receives outstanding, mean", DIFF_RATIO, 0, 0, mean_receives, NULL, NULL, NULL },
	{ "receive queues empty", DIFF_SHARE, 0, 0, share_without_receive, NULL, NULL, NULL },
	{ "messages without a receive", DIFF_SHARE, 1, 0, share_starved, NULL, NULL, NULL },
	{ "duration", DIFF_NS, 1, SHORTEST_RUN_NS, find_duration, NULL, NULL, NULL },
};
/* clang-format on */

static double sample_of_run(const struct diff *diff, const struct pace *pace,
			    const struct diff_pair *pair, int side, size_t i)
{
	if (!pair)
		return pace->run(diff->sides[side].runs[i]);
	return pair->of[side][i] ? pace->site(pair->of[side][i]) : NAN;
}

/* Returns false if not all runs have the number. */
static bool fill_sample(const struct diff *diff, const struct pace *pace,
			const struct diff_pair *pair, struct sample *sample)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < sample->n[side]; i++) {
			double number = sample_of_run(diff, pace, pair, side, i);

			if (isnan(number))
				return false;
			sample->of[side][i] =
				pace->unit == DIFF_SHARE ? number : log(fmax(number, 1e-3));
		}
	return true;
}

static double mean_number(const struct pace *pace, const struct sample *sample, int side)
{
	double mean = sample_mean(sample, side);

	return pace->unit == DIFF_SHARE   ? mean
	       : pace->unit == DIFF_RATIO ? exp(mean)
					  : round(exp(mean));
}

static bool has_one_run(const struct sample *sample)
{
	return sample->n[0] < 2 || sample->n[1] < 2;
}

/* By how much the nearest runs differ, in percent or percentage points; 0: it may be chance. */
static double find_change(const struct pace *pace, const struct sample *sample)
{
	double between = sample_gap(sample);
	double by = sample_mean(sample, 1) - sample_mean(sample, 0);

	if (has_one_run(sample) || (fabs(by) <= sample_width(sample)) || !sample_is_apart(sample))
		return 0;
	return pace->unit == DIFF_SHARE ? between : 100 * expm1(between);
}

static bool is_large_change(const struct pace *pace, const struct sample *sample)
{
	double by = sample_mean(sample, 1) - sample_mean(sample, 0);

	return has_one_run(sample) &&
	       fabs(by) >= (pace->unit == DIFF_SHARE ? GREAT_DIFFERENCE : log(2));
}

static bool has_same_work(const struct diff *diff)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct profile *profile = diff->sides[side].runs[i]->profile;
			uint64_t n = profile->send.requests + profile->receive.requests;

			least = n < least ? n : least;
			most = n > most ? n : most;
		}
	return (most - least) * 100 <= most * SAME_PERCENT;
}

static void note_unchanged(struct diff *diff, const struct pace *pace, const struct diff_pair *pair,
			   const struct sample *sample)
{
	bool share = pace->unit == DIFF_SHARE, few = sample->n[0] < 3 || sample->n[1] < 3;
	double by = few ? 0
			: sample_min_effect(sample,
					    share ? diff->threshold : log1p(diff->threshold / 100));

	change_add_test(diff, pace->name, pair,
			&(struct diff_test){
				.because = has_one_run(sample) ? "one run per side"
					   : few               ? "fewer than three runs on a side"
							       : NULL,
				.share = share,
				.could_see = share ? by : 100 * expm1(by),
			});
}

static void add_pace(struct diff *diff, const struct pace *pace, const struct diff_pair *pair,
		     const struct sample *sample)
{
	double by = find_change(pace, sample);
	struct diff_change *change;
	/* more work takes longer */
	int worse = pace->run == find_duration && !has_same_work(diff) ? 0 : pace->worse;

	if (fmax(mean_number(pace, sample, 0), mean_number(pace, sample, 1)) < pace->least ||
	    (fabs(by) <= diff->threshold && !is_large_change(pace, sample))) {
		note_unchanged(diff, pace, pair, sample);
		return;
	}
	change = change_add(diff, DIFF_TIME, pace->name);
	if (!change)
		return;
	change->unit = pace->unit;
	change->before = mean_number(pace, sample, 0);
	change->after = mean_number(pace, sample, 1);
	if (pair && pace->measure)
		place_set_for_number(diff, change, pair, pace->measure, false);
	else if (pair)
		place_set_for_percentile(diff, change, pair, pace->applies == makes_cq);
	if (!has_one_run(sample)) {
		change_set_verdict(diff, change, by * worse);
		return;
	}
	change->verdict = DIFF_UNCLEAR;
	snprintf(change->note, sizeof(change->note), "one run per side: timing is not judged");
}

/* Do all runs have gaps, though too few for a percentile? */
static bool has_gaps(const struct diff *diff, const struct pace *pace, const struct diff_pair *pair)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < diff->sides[side].n; i++) {
			const struct diff_site *site = pair->of[side][i];

			if (!site ||
			    !(pace->applies == makes_cq ? &site->poll_gap : &site->sum.gap)->count)
				return false;
		}
	return true;
}

static void compare_pace(struct diff *diff, const struct pace *pace, const struct diff_pair *pair)
{
	struct sample sample = { 0 };

	if (sample_begin(diff, &sample)) {
		if (fill_sample(diff, pace, pair, &sample))
			add_pace(diff, pace, pair, &sample);
		else if (pair && has_gaps(diff, pace, pair))
			change_add_test(diff, pace->name, pair,
					&(struct diff_test){ .because = "a run has too few gaps" });
	}
	sample_end(&sample);
}

void pace_compare(struct diff *diff)
{
	for (size_t i = 0; i < sizeof(paces) / sizeof(*paces); i++) {
		const struct pace *pace = &paces[i];

		if (pace->run && !diff->no_memory)
			compare_pace(diff, pace, NULL);
		for (size_t k = 0; pace->site && k < diff->npairs && !diff->no_memory; k++)
			if (pace->applies(diff->pairs[k].verb))
				compare_pace(diff, pace, &diff->pairs[k]);
	}
}
