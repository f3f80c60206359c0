/*
 * The shape of histograms: a mode that only the runs after have
 *
 * Five microseconds more before one request in a hundred change no percentile, but cause a separate
 * peak in the gaps between posts:
 *
 * 	     #
 * 	   # # #                      +
 * 	   # # # #                  + + +
 * 	---------------------------------------	log of the gap
 * 	                        |  window  |
 *
 * A window of half an octave is slid over both. Its gaps are a new mode if
 *
 * 	- all runs after have more in it than any run before, RATIO times (RATIO_ONE with one run a
 * 	  side), and at least LEAST_GAPS gaps, which chance cannot move from one side to the other
 * 	- it is a peak: the windows beside it have less than half of it
 * 	- the other gaps have not moved: if the medians are far apart, all have moved, which is a
 * 	  matter of times
 * 	- it is far above the medians, and below the scheduler's time slice (SLICE_NS): how much of
 * 	  the time longer gaps take is compared in pace.c
 */
#include "analyzer/diff/shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyzer/diff/change.h"
#include "analyzer/diff/place.h"

enum {
	FIRST_CLASS = 64,      /* lower classes are not of equal width */
	WINDOW_CLASSES = 16,   /* classes: half an octave */
	DISTANCE_CLASSES = 24, /* classes from a window to the one that is compared with it */
	STEP_CLASSES = 2,      /* classes */
	LEAST_GAPS = 30,       /* gaps in the window */
	LEAST_SHARE = 5,       /* in 1000 */
	RATIO = 4,
	RATIO_ONE = 8,
	CHANCE_DEVIATIONS = 6, /* standard deviations */
	/* ratio: medians closer than this have not moved; a window begins this far above them */
	MOVED = 2,
	SLICE_NS = 500000, /* ns */
	MODES_SHOWN = 2,   /* reported per function */
};

/* For each class the number of gaps in lower classes, by run. */
struct sums {
	uint64_t below[HISTOGRAM_CLASSES + 1];
};

struct shapes {
	size_t n[2];
	struct sums *runs[2];
	struct histogram all[2]; /* of all runs of a side together */
};

static uint64_t count_window(const struct sums *sums, unsigned int first)
{
	return sums->below[first + WINDOW_CLASSES] - sums->below[first];
}

static double share_window(const struct sums *sums, unsigned int first)
{
	uint64_t all = sums->below[HISTOGRAM_CLASSES];

	return all ? (double)count_window(sums, first) / (double)all : 0;
}

static void sum_classes(struct sums *sums, const struct histogram *h)
{
	uint64_t from, to;

	for (unsigned int i = 0; i < HISTOGRAM_CLASSES; i++)
		sums->below[i + 1] = sums->below[i] + histogram_count_class(h, i, &from, &to);
}

/* The gaps in the window, all runs of a side: least and largest share of one run; n of a total. */
struct window {
	double least, most;
	uint64_t n, of;
};

static struct window sum_window(const struct shapes *shapes, int side, unsigned int first)
{
	struct window window = { .least = 1 };

	for (size_t i = 0; i < shapes->n[side]; i++) {
		const struct sums *sums = &shapes->runs[side][i];
		double share = share_window(sums, first);

		window.least = fmin(window.least, share);
		window.most = fmax(window.most, share);
		window.n += count_window(sums, first);
		window.of += sums->below[HISTOGRAM_CLASSES];
	}
	return window;
}

static bool is_beyond_chance(const struct window *before, const struct window *after)
{
	double a = (double)before->n / (double)before->of, b = (double)after->n / (double)after->of;
	double p = (double)(before->n + after->n) / (double)(before->of + after->of);
	double sigma = sqrt(p * (1 - p) * (1 / (double)before->of + 1 / (double)after->of));

	return b - a > CHANCE_DEVIATIONS * sigma;
}

static bool is_peak(const struct shapes *shapes, unsigned int first, const struct window *window)
{
	struct window left = sum_window(shapes, 1, first - DISTANCE_CLASSES);
	struct window right = sum_window(shapes, 1, first + DISTANCE_CLASSES);

	return left.n * 2 < window->n && right.n * 2 < window->n;
}

/* The increase of the share of gaps in the window; 0: it is not a new mode. */
static double compare_window(const struct shapes *shapes, unsigned int first)
{
	struct window before = sum_window(shapes, 0, first), after = sum_window(shapes, 1, first);
	bool one = shapes->n[0] < 2 || shapes->n[1] < 2;

	if (after.n < LEAST_GAPS || after.least * 1000 < LEAST_SHARE || !before.of ||
	    after.least < before.most * (one ? RATIO_ONE : RATIO))
		return 0;
	if (!is_beyond_chance(&before, &after) || !is_peak(shapes, first, &after))
		return 0;
	return (double)after.n / (double)after.of - (double)before.n / (double)before.of;
}

/* Are the medians so close that only a part of the gaps can have moved? */
static bool has_same_median(const struct shapes *shapes)
{
	int64_t a = histogram_percentile(&shapes->all[0], 50);
	int64_t b = histogram_percentile(&shapes->all[1], 50);

	return a > 0 && b > 0 && a < SLICE_NS && b < SLICE_NS && a * MOVED >= b && b * MOVED >= a;
}

/* The values between which nine tenths of the window's gaps are. */
static void find_edges(const struct shapes *shapes, unsigned int first, uint64_t *ret_from,
		       uint64_t *ret_to)
{
	uint64_t n = sum_window(shapes, 1, first).n, seen = 0, from, to;

	*ret_from = *ret_to = 0;
	for (unsigned int i = first; i < first + WINDOW_CLASSES; i++) {
		uint64_t here = histogram_count_class(&shapes->all[1], i, &from, &to);

		if (seen * 20 <= n)
			*ret_from = from;
		if (seen * 20 < n * 19)
			*ret_to = to;
		seen += here;
	}
}

/* "5.12 us" */
static const char *print_time(uint64_t ns, char text[32])
{
	if (ns < 1000)
		snprintf(text, 32, "%u ns", (unsigned int)ns);
	else
		snprintf(text, 32, "%.3g us", (double)ns / 1000);
	return text;
}

static void add_mode(struct diff *diff, const struct shapes *shapes, const struct diff_pair *pair,
		     unsigned int first)
{
	struct diff_change *change = change_add(diff, DIFF_SHAPE, "gap before a post");
	struct window before = sum_window(shapes, 0, first), after = sum_window(shapes, 1, first);
	char least[32], last[32];
	uint64_t from, to;

	if (!change)
		return;
	find_edges(shapes, first, &from, &to);
	change->unit = DIFF_SHARE;
	change->before = 100 * (double)before.n / (double)before.of;
	change->after = 100 * (double)after.n / (double)after.of;
	place_set_for_gap(diff, change, pair, from, to);
	snprintf(change->note, sizeof(change->note), "new mode at %s to %s: %llu gaps, before %llu",
		 print_time(from, least), print_time(to, last), (unsigned long long)after.n,
		 (unsigned long long)before.n);
	change_set_verdict(diff, change, INFINITY);
}

/* Find the largest windows above the medians that do not touch each other. */
static void find_modes(struct diff *diff, const struct shapes *shapes, const struct diff_pair *pair)
{
	unsigned int last = histogram_class_of(SLICE_NS) - WINDOW_CLASSES, found[MODES_SHOWN],
		     n = 0;
	int64_t before = histogram_percentile(&shapes->all[0], 50);
	int64_t after = histogram_percentile(&shapes->all[1], 50);
	unsigned int from = histogram_class_of((uint64_t)(before > after ? before : after) * MOVED);

	from = from > FIRST_CLASS + DISTANCE_CLASSES ? from : FIRST_CLASS + DISTANCE_CLASSES;
	for (; n < MODES_SHOWN; n++) {
		double most = 0;

		for (unsigned int at = from; at < last; at += STEP_CLASSES) {
			double more = compare_window(shapes, at);

			for (unsigned int i = 0; i < n; i++)
				if (at < found[i] + WINDOW_CLASSES &&
				    found[i] < at + WINDOW_CLASSES)
					more = 0;
			if (more > most) {
				most = more;
				found[n] = at;
			}
		}
		if (most == 0)
			break;
		add_mode(diff, shapes, pair, found[n]);
	}
}

static bool fill_shapes(const struct diff *diff, const struct diff_pair *pair,
			struct shapes *shapes)
{
	for (int side = 0; side < 2; side++) {
		shapes->n[side] = diff->sides[side].n;
		shapes->runs[side] = calloc(shapes->n[side], sizeof(struct sums));
		for (size_t i = 0; i < shapes->n[side]; i++) {
			if (!pair->of[side][i] || !shapes->runs[side])
				return false;
			sum_classes(&shapes->runs[side][i], &pair->of[side][i]->sum.gap);
			histogram_merge(&shapes->all[side], &pair->of[side][i]->sum.gap);
		}
	}
	return true;
}

void shape_compare(struct diff *diff)
{
	for (size_t i = 0; i < diff->npairs && !diff->no_memory; i++) {
		const struct diff_pair *pair = &diff->pairs[i];
		struct shapes shapes = { 0 };

		if (verb_infos[pair->verb].plane == PLANE_DATA &&
		    fill_shapes(diff, pair, &shapes) && has_same_median(&shapes)) {
			diff->shapes += shapes.all[1].count >= LEAST_GAPS;
			find_modes(diff, &shapes, pair);
		}
		for (int side = 0; side < 2; side++) {
			free(shapes.runs[side]);
			histogram_fini(&shapes.all[side]);
		}
	}
}
