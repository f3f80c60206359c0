/*
 * A line between bounds from below and from above
 *
 * For a given drift each bound is one of the offset alone, so that the offsets that fit lie between
 * the largest "at least" and the smallest "at most". The room between them is a concave function of
 * the drift: it is largest somewhere, and the drifts that leave any are an interval. Where the
 * lines that fit are highest and lowest at a time is found in the same way; between two times a
 * line is nowhere farther from another than at one of them.
 */
#include "analyzer/model/bounds.h"

#include <math.h>
#include <string.h>

#define DRIFT_MAX 2e-4 /* two crystals, and clocks that are being set right */

enum { STEPS = 64, WIDTH = 1000000 };

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

static double min_of(double a, double b)
{
	return a < b ? a : b;
}

void bounds_init(struct bounds *bounds)
{
	bounds->width = WIDTH;
	for (int i = 0; i < BOUNDS_SPANS; i++) {
		bounds->least[i].value = INT64_MIN;
		bounds->most[i].value = INT64_MAX;
	}
}

static void raise_least(struct bound *to, const struct bound *from)
{
	if (from->value > to->value)
		*to = *from;
}

static void lower_most(struct bound *to, const struct bound *from)
{
	if (from->value < to->value)
		*to = *from;
}

/* Twice as long spans. */
static void widen_spans(struct bounds *bounds)
{
	for (int i = 0; i < BOUNDS_SPANS; i++) {
		struct bound least = bounds->least[i], most = bounds->most[i];

		bounds->least[i].value = INT64_MIN;
		bounds->most[i].value = INT64_MAX;
		raise_least(&bounds->least[i / 2], &least);
		lower_most(&bounds->most[i / 2], &most);
	}
	bounds->width *= 2;
}

static int find_span(struct bounds *bounds, int64_t time)
{
	while (time / bounds->width >= BOUNDS_SPANS)
		widen_spans(bounds);
	return time < 0 ? 0 : (int)(time / bounds->width);
}

void bounds_at_least(struct bounds *bounds, int64_t value, int64_t time)
{
	int i = find_span(bounds, time);

	raise_least(&bounds->least[i], &(struct bound){ value, time });
}

void bounds_at_most(struct bounds *bounds, int64_t value, int64_t time)
{
	int i = find_span(bounds, time);

	lower_most(&bounds->most[i], &(struct bound){ value, time });
}

void bounds_add(struct bounds *bounds, const struct bounds *from)
{
	for (int i = 0; i < BOUNDS_SPANS; i++) {
		if (from->least[i].value != INT64_MIN)
			bounds_at_least(bounds, from->least[i].value, from->least[i].time);
		if (from->most[i].value != INT64_MAX)
			bounds_at_most(bounds, from->most[i].value, from->most[i].time);
	}
}

/* The offsets that fit this drift; returns how much room they have, negative: none fits. */
static double find_room(const struct bounds *bounds, double drift, double offset[2])
{
	offset[0] = -INFINITY;
	offset[1] = INFINITY;
	for (int i = 0; i < BOUNDS_SPANS; i++) {
		const struct bound *least = &bounds->least[i], *most = &bounds->most[i];

		if (least->value != INT64_MIN)
			offset[0] = max_of(offset[0],
					   (double)least->value - drift * (double)least->time);
		if (most->value != INT64_MAX)
			offset[1] =
				min_of(offset[1], (double)most->value - drift * (double)most->time);
	}
	return offset[1] - offset[0];
}

/* The drift with the most room. */
static double find_widest(const struct bounds *bounds)
{
	double low = -DRIFT_MAX, high = DRIFT_MAX, offset[2];

	for (int i = 0; i < 2 * STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;

		if (find_room(bounds, a, offset) < find_room(bounds, b, offset))
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* Between @fits, which leaves room, and @edge: the last that does. */
static double find_last(const struct bounds *bounds, double fits, double edge)
{
	double offset[2];

	if (find_room(bounds, edge, offset) >= 0)
		return edge;
	for (int i = 0; i < STEPS; i++) {
		double middle = (fits + edge) / 2;

		if (find_room(bounds, middle, offset) >= 0)
			fits = middle;
		else
			edge = middle;
	}
	return fits;
}

/*
 * The highest that a line that fits is at @time, or the lowest: each is a concave (convex) function
 * of the drift, between @drifts.
 */
static double find_extreme(const struct bounds *bounds, const double drifts[2], double time,
			   bool highest)
{
	double low = drifts[0], high = drifts[1], sign = highest ? 1 : -1, offset[2];

	for (int i = 0; i < 2 * STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3, at_a;

		find_room(bounds, a, offset);
		at_a = sign * (offset[highest] + a * time);
		find_room(bounds, b, offset);
		if (at_a < sign * (offset[highest] + b * time))
			low = a;
		else
			high = b;
	}
	find_room(bounds, (low + high) / 2, offset);
	return offset[highest] + (low + high) / 2 * time;
}

bool bounds_solve(const struct bounds *bounds, const int64_t span[2], struct bounds_line *ret_line)
{
	double widest = find_widest(bounds), offset[2], drifts[2], middle[2], error[2], drift;

	if (find_room(bounds, widest, offset) < 0 || !isfinite(offset[0]) || !isfinite(offset[1]))
		return false;
	drifts[0] = find_last(bounds, widest, -DRIFT_MAX);
	drifts[1] = find_last(bounds, widest, DRIFT_MAX);
	for (int i = 0; i < 2; i++) {
		double high = find_extreme(bounds, drifts, (double)span[i], true);
		double low = find_extreme(bounds, drifts, (double)span[i], false);

		middle[i] = (high + low) / 2;
		error[i] = (high - low) / 2;
	}
	drift = span[1] > span[0] ? (middle[1] - middle[0]) / (double)(span[1] - span[0])
				  : (drifts[0] + drifts[1]) / 2;
	*ret_line = (struct bounds_line){
		.offset = middle[0] - drift * (double)span[0],
		.drift = drift,
		.error = max_of(error[0], error[1]),
		.drift_error = max_of(drifts[1] - drift, drift - drifts[0]),
	};
	return true;
}
