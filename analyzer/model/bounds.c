/*
 * A line between bounds from below and from above
 *
 * For a given drift each bound limits the offset alone, so that the possible offsets lie between
 * the largest lower and the smallest upper bound. The gap between them is a concave function of the
 * drift: it has a maximum, and the drifts that leave a gap are an interval. The highest and lowest
 * possible line at a time is found in the same way; the distance of two lines between two times is
 * never larger than at one of the two times.
 *
 * A line is above all points exactly if it is above the corners of their upper hull: of millions of
 * messages, some dozens of bounds are stored.
 */
#include "analyzer/model/bounds.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/vec.h"

#define DRIFT_MAX 2e-4 /* two crystals, and clocks that are being adjusted */

enum { STEPS = 64, HULL_BOUNDS = 4096 /* bounds between two hulls */ };

static double max_of(double a, double b)
{
	return a > b ? a : b;
}

static double min_of(double a, double b)
{
	return a < b ? a : b;
}

void bounds_fini(struct bounds *bounds)
{
	free(bounds->least.at);
	free(bounds->most.at);
	*bounds = (struct bounds){ 0 };
}

static int compare_bounds(const void *a, const void *b)
{
	const struct bound *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* Does the path @a - @b - @c turn left? A straight line does not. */
static bool turns_left(const struct bound *a, const struct bound *b, const struct bound *c)
{
	__int128 before = (__int128)(b->value - a->value) * (c->time - b->time);
	__int128 after = (__int128)(c->value - b->value) * (b->time - a->time);

	return after > before;
}

/* Reduce the bounds to the corners of their hull: @upper: the upper hull, else the lower. */
static void make_hull(struct bounds_side *side, bool upper)
{
	struct bound *at = side->at;
	size_t n = 0;

	if (side->n)
		qsort(at, side->n, sizeof(*at), compare_bounds);
	for (size_t i = 0; i < side->n; i++) {
		const struct bound next = at[i];

		if (!upper && n && at[n - 1].time == next.time)
			continue;
		while (n && ((upper && at[n - 1].time == next.time) ||
			     (n > 1 && turns_left(&at[n - 2], &at[n - 1], &next) == upper)))
			n--;
		at[n++] = next;
	}
	side->n = side->corners = n;
}

static void add_bound(struct bounds_side *side, bool upper, int64_t value, int64_t time)
{
	if (side->n >= 2 * side->corners + HULL_BOUNDS)
		make_hull(side, upper);
	if (!vec_reserve(side->at, side->size, side->n + 1))
		side->at[side->n++] = (struct bound){ value, time };
}

void bounds_add_least(struct bounds *bounds, int64_t value, int64_t time)
{
	add_bound(&bounds->least, true, value, time);
}

void bounds_add_most(struct bounds *bounds, int64_t value, int64_t time)
{
	add_bound(&bounds->most, false, value, time);
}

void bounds_add(struct bounds *bounds, const struct bounds *from)
{
	for (size_t i = 0; i < from->least.n; i++)
		bounds_add_least(bounds, from->least.at[i].value, from->least.at[i].time);
	for (size_t i = 0; i < from->most.n; i++)
		bounds_add_most(bounds, from->most.at[i].value, from->most.at[i].time);
}

/* The offsets possible with this drift; returns the gap between them, negative: none fits. */
static double find_offsets(const struct bounds *bounds, double drift, double offset[2])
{
	const struct bounds_side *least = &bounds->least, *most = &bounds->most;

	offset[0] = -INFINITY;
	offset[1] = INFINITY;
	for (size_t i = 0; i < least->n; i++)
		offset[0] = max_of(offset[0],
				   (double)least->at[i].value - drift * (double)least->at[i].time);
	for (size_t i = 0; i < most->n; i++)
		offset[1] = min_of(offset[1],
				   (double)most->at[i].value - drift * (double)most->at[i].time);
	return offset[1] - offset[0];
}

/* The drift with the largest gap. */
static double find_widest(const struct bounds *bounds)
{
	double low = -DRIFT_MAX, high = DRIFT_MAX, offset[2];

	for (int i = 0; i < 2 * STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;

		if (find_offsets(bounds, a, offset) < find_offsets(bounds, b, offset))
			low = a;
		else
			high = b;
	}
	return (low + high) / 2;
}

/* The last drift between @fits and @edge that leaves a gap, as @fits does. */
static double find_last_drift(const struct bounds *bounds, double fits, double edge)
{
	double offset[2];

	if (find_offsets(bounds, edge, offset) >= 0)
		return edge;
	for (int i = 0; i < STEPS; i++) {
		double middle = (fits + edge) / 2;

		if (find_offsets(bounds, middle, offset) >= 0)
			fits = middle;
		else
			edge = middle;
	}
	return fits;
}

/*
 * The highest or lowest value that a possible line has at @time: the highest is a concave, the
 * lowest a convex function of the drift, between @drifts.
 */
static double find_extreme_value(const struct bounds *bounds, const double drifts[2], double time,
				 bool highest)
{
	double low = drifts[0], high = drifts[1], sign = highest ? 1 : -1, offset[2];

	for (int i = 0; i < 2 * STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3, at_a;

		find_offsets(bounds, a, offset);
		at_a = sign * (offset[highest] + a * time);
		find_offsets(bounds, b, offset);
		if (at_a < sign * (offset[highest] + b * time))
			low = a;
		else
			high = b;
	}
	find_offsets(bounds, (low + high) / 2, offset);
	return offset[highest] + (low + high) / 2 * time;
}

bool bounds_solve(struct bounds *bounds, const int64_t span[2], struct bounds_line *ret_line)
{
	double widest, offset[2], drifts[2], middle[2], error[2], drift;

	make_hull(&bounds->least, true);
	make_hull(&bounds->most, false);
	widest = find_widest(bounds);
	if (find_offsets(bounds, widest, offset) < 0 || !isfinite(offset[0]) ||
	    !isfinite(offset[1]))
		return false;
	drifts[0] = find_last_drift(bounds, widest, -DRIFT_MAX);
	drifts[1] = find_last_drift(bounds, widest, DRIFT_MAX);
	for (int i = 0; i < 2; i++) {
		double high = find_extreme_value(bounds, drifts, (double)span[i], true);
		double low = find_extreme_value(bounds, drifts, (double)span[i], false);

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
