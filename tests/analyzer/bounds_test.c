/* analyzer/model/bounds.c: lines between bounds. */
#include "analyzer/model/bounds.h"

#include <math.h>
#include <stdlib.h>

#include "tests/test.h"

enum { SECOND = 1000000000, APART = 5000 };

static const int64_t span[2] = { 0, SECOND };

/* Bounds on both sides of a line, @near to it. */
static void surround_line(struct bounds *bounds, double offset, double drift, int64_t near)
{
	*bounds = (struct bounds){ 0 };
	for (int64_t time = 0; time <= SECOND; time += SECOND / 1000) {
		int64_t value = (int64_t)(offset + drift * (double)time);

		bounds_add_least(bounds, value - near - time % 7 * APART, time);
		bounds_add_most(bounds, value + near + time % 5 * APART, time);
	}
}

static const struct row {
	const char *name;
	double offset, drift;
} rows[] = {
	{ "no_offset", 0, 0 },
	{ "ahead", 3e9, 0 },
	{ "behind_and_slower", -4e12, -5e-5 },
	{ "faster", 100, 1e-4 },
};

static void the_line_is_found(void **state)
{
	const struct row *row = *state;
	struct bounds bounds;
	struct bounds_line line;

	surround_line(&bounds, row->offset, row->drift, 1000);
	assert_true(bounds_solve(&bounds, span, &line));
	assert_true(line.error < 20 * APART);
	for (int i = 0; i < 2; i++)
		assert_true(fabs(line.offset - row->offset +
				 (line.drift - row->drift) * (double)span[i]) <= line.error + 1);
	bounds_fini(&bounds);
}
TEST_ROWS(rows, the_line_is_found);

/* A message takes at least this time, mostly longer; there are few, and none at the end. */
static void draw_bounds(struct bounds *bounds, double offset, double drift, unsigned int *seed)
{
	int n = 2 + rand_r(seed) % 200;

	*bounds = (struct bounds){ 0 };
	for (int i = 0; i < n; i++) {
		int64_t time = rand_r(seed) % SECOND, takes = 1 + rand_r(seed) % (100 * APART);
		double value = offset + drift * (double)time;

		if (i % 2)
			bounds_add_least(bounds, (int64_t)value - 1 - takes, time);
		else
			bounds_add_most(bounds, (int64_t)value + 1 + takes, time);
	}
}

TEST(no_line_that_may_be_is_farther_than_the_error)
{
	const int64_t spans[][2] = { { 0, SECOND }, { -SECOND, 3ll * SECOND }, { SECOND, SECOND } };
	unsigned int seed = 20261123;

	for (int round = 0; round < 2000; round++) {
		const int64_t *within = spans[round % 3];
		double offset = (rand_r(&seed) - RAND_MAX / 2) * 100.0;
		double drift = (rand_r(&seed) % 400 - 200) * 1e-6;
		struct bounds bounds;
		struct bounds_line line;

		draw_bounds(&bounds, offset, drift, &seed);
		assert_true(bounds_solve(&bounds, within, &line));
		for (int i = 0; i < 2; i++)
			assert_true(fabs(line.offset - offset +
					 (line.drift - drift) * (double)within[i]) <=
				    line.error + 1);
		assert_true(fabs(line.drift - drift) <= line.drift_error + 1e-9);
		bounds_fini(&bounds);
	}
}

TEST(bounds_that_cross_leave_no_line)
{
	struct bounds bounds;
	struct bounds_line line;

	surround_line(&bounds, 0, 0, 1000);
	bounds_add_least(&bounds, SECOND, SECOND / 2);
	assert_false(bounds_solve(&bounds, span, &line));
	bounds_fini(&bounds);
}

TEST(too_much_drift_is_none)
{
	struct bounds bounds;
	struct bounds_line line;

	surround_line(&bounds, 0, 1e-2, 10);
	assert_false(bounds_solve(&bounds, span, &line));
	bounds_fini(&bounds);
}

TEST(one_side_alone_says_nothing)
{
	struct bounds bounds = { 0 };
	struct bounds_line line;

	bounds_add_least(&bounds, 5, 5);
	assert_false(bounds_solve(&bounds, span, &line));
	bounds_fini(&bounds);
}

TEST(hours_are_no_less_sure)
{
	const int64_t long_span[2] = { 0, INT64_C(36000) * SECOND };
	struct bounds bounds = { 0 };
	struct bounds_line line;

	for (int64_t hour = 0; hour <= 10; hour++) {
		bounds_add_least(&bounds, 400, hour * 3600 * SECOND);
		bounds_add_most(&bounds, 600, hour * 3600 * SECOND);
	}
	assert_true(bounds_solve(&bounds, long_span, &line));
	assert_true(line.error < 1000);
	assert_true(fabs(line.offset - 500) <= line.error);
	bounds_fini(&bounds);
}

/* The corners are known: exactly what is between them is possible. */
TEST(the_room_is_found_to_the_nanosecond)
{
	struct bounds bounds = { 0 };
	struct bounds_line line;

	for (int64_t time = 0; time <= SECOND; time += SECOND) {
		bounds_add_least(&bounds, 400, time);
		bounds_add_most(&bounds, 600, time);
	}
	assert_true(bounds_solve(&bounds, span, &line));
	assert_true(fabs(line.offset - 500) < 1e-3);
	assert_true(fabs(line.error - 100) < 1e-3);
	assert_true(fabs(line.drift * SECOND) < 1e-3);
	assert_true(fabs(line.drift_error * SECOND - 200) < 1e-3);
	bounds_fini(&bounds);
}

/* Two real clocks never have a larger drift. */
TEST(the_drift_is_bounded_where_bounds_are_not)
{
	struct bounds bounds = { 0 };
	struct bounds_line line;

	bounds_add_least(&bounds, 400, 0);
	bounds_add_most(&bounds, 600, 0);
	assert_true(bounds_solve(&bounds, span, &line));
	assert_true(fabs(line.drift) < 1e-9);
	assert_true(fabs(line.drift_error - 2e-4) < 1e-9);
	assert_true(fabs(line.error - 100 - 2e-4 * SECOND) < 1);
	bounds_fini(&bounds);
}

/* A bound that is hidden by others at one time limits the line at the final drift. */
TEST(no_bound_of_many_is_broken)
{
	enum { MANY = 100000 };
	const int64_t long_span[2] = { 0, INT64_C(600) * SECOND };
	static int64_t least[MANY], most[MANY], times[MANY];
	struct bounds bounds = { 0 };
	struct bounds_line line;
	unsigned int seed = 20261123;

	for (int i = 0; i < MANY; i++) {
		double value;

		times[i] = (int64_t)rand_r(&seed) * 280;
		value = 5e-5 * (double)times[i];
		least[i] = (int64_t)value - 1000 - rand_r(&seed) % 100;
		most[i] = (int64_t)value + 100 + rand_r(&seed) % 100;
		bounds_add_least(&bounds, least[i], times[i]);
		bounds_add_most(&bounds, most[i], times[i]);
	}
	assert_true(bounds.least.n < MANY / 4 && bounds.most.n < MANY / 4);
	assert_true(bounds_solve(&bounds, long_span, &line));
	for (int i = 0; i < MANY; i++) {
		double at = line.offset + line.drift * (double)times[i];

		assert_true(at > (double)least[i] - 1 && at < (double)most[i] + 1);
	}
	bounds_fini(&bounds);
}
