/* core/store/read/trace_clock.c: times of one of several traces. */
#include "core/store/read/trace_clock.h"

#include <math.h>
#include <stdlib.h>

#include "tests/test.h"

#define MOST  (INT64_C(1) << 60)
#define HOURS INT64_C(36000000000000) /* ten */

static const struct rounding {
	const char *name;
	double ns;
	int64_t to;
} roundings[] = {
	{ "zero", 0, 0 },
	{ "a_part_of_a_nanosecond", 7.9, 7 },
	{ "a_part_before_zero", -7.9, -7 },
	{ "as_late_as_can_be", (double)MOST, MOST },
	{ "too_late", 4.0 * (double)MOST, MOST },
	{ "as_early_as_can_be", -(double)MOST, -MOST },
	{ "too_early", -4.0 * (double)MOST, -MOST },
	{ "infinite", INFINITY, MOST },
	{ "no_number", NAN, -MOST },
};

static void number_is_within_times(void **state)
{
	const struct rounding *row = *state;

	assert_int_equal(trace_clock_round((long double)row->ns), row->to);
}
TEST_ROWS(roundings, number_is_within_times);

static const struct placed {
	const char *name;
	int64_t offset;
	double drift;
	int64_t time, placed;
} places[] = {
	{ "of_the_same_clock", 0, 0, 12345, 12345 },
	{ "of_a_clock_behind", 1000, 0, 5, 1005 },
	{ "of_a_clock_ahead", -1000, 0, 5, -995 },
	{ "of_a_slow_clock", 0, 1e-4, 20000, 20002 },
	{ "of_a_fast_clock", 0, -1e-4, 20000, 19998 },
	{ "before_the_beginning", 0, 1e-4, -20000, -20002 },
	{ "of_both", 50, 1e-4, 20000, 20052 },
	{ "hours_later", 7, 1e-5, HOURS, HOURS + 360000007 },
	{ "of_a_damaged_trace", 1, 0, INT64_MAX, MOST },
	{ "of_a_trace_damaged_downwards", -1, 0, INT64_MIN, -MOST },
};

static void time_is_placed(void **state)
{
	const struct placed *row = *state;
	const struct trace_clock clock = { .offset = row->offset, .drift = row->drift };
	int64_t back = trace_clock_to_own_time(&clock, row->placed);

	assert_int_equal(trace_clock_time(&clock, row->time), row->placed);
	if (row->time > -MOST && row->time < MOST)
		assert_true(llabs(back - row->time) <= 1);
}
TEST_ROWS(places, time_is_placed);

TEST(drift_has_a_limit)
{
	assert_true(trace_clock_drifts(0.01));
	assert_true(trace_clock_drifts(-0.01));
	assert_false(trace_clock_drifts(0.010001));
	assert_false(trace_clock_drifts(-0.010001));
	assert_false(trace_clock_drifts(NAN));
}

TEST(what_a_damaged_trace_says_of_a_clock_is_bounded)
{
	struct trace_clock wild = { .offset = INT64_MAX, .drift = 0.5, .error = MOST + 1 };
	struct trace_clock tame = { .offset = 5, .drift = 0.01, .error = MOST };

	trace_clock_bound(&wild);
	assert_int_equal(wild.offset, MOST);
	assert_true(fpclassify(wild.drift) == FP_ZERO);
	assert_int_equal(wild.error, INT64_MAX);
	trace_clock_bound(&tame);
	assert_int_equal(tame.offset, 5);
	assert_true(tame.drift > 0.0099);
	assert_int_equal(tame.error, MOST);
}

/* A clock with too short seconds must be stretched, and is slow without it. */
TEST(rate_is_reported_in_millionths)
{
	assert_true(fabs(trace_clock_ppm(&(struct trace_clock){ .drift = 0 })) < 1e-9);
	assert_true(fabs(trace_clock_ppm(&(struct trace_clock){ .drift = 1e-4 }) + 99.99) < 1e-3);
	assert_true(fabs(trace_clock_ppm(&(struct trace_clock){ .drift = -1e-4 }) - 100.01) < 1e-3);
}
