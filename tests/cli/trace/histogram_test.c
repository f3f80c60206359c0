#include <stdlib.h>

#include "cli/trace/histogram.h"
#include "tests/test.h"

static struct histogram h;

static int make_empty(void **state)
{
	(void)state;
	histogram_fini(&h);
	return 0;
}

FIXTURE(make_empty, make_empty);

TEST(nothing_has_no_percentile)
{
	assert_int_equal(histogram_percentile(&h, 50), -1);
}

TEST(small_values_are_exact)
{
	for (int i = 1; i <= 50; i++)
		histogram_add(&h, i);
	assert_int_equal(histogram_percentile(&h, 50), 25);
	assert_int_equal(histogram_percentile(&h, 90), 45);
	assert_int_equal(histogram_percentile(&h, 100), 50);
	assert_int_equal(h.max, 50);
	assert_int_equal(h.total, 1275);
}

TEST(error_is_at_most_a_32nd)
{
	for (uint64_t v = 1; v < UINT64_MAX / 8; v = v * 9 / 7 + 1) {
		histogram_fini(&h);
		histogram_add(&h, (int64_t)v);
		histogram_add(&h, INT64_MAX);
		uint64_t p = (uint64_t)histogram_percentile(&h, 50);

		assert_true(p >= v && p - v <= v / 32);
	}
}

TEST(percentile_is_never_above_the_largest)
{
	histogram_add(&h, 1000001);
	assert_int_equal(histogram_percentile(&h, 99), 1000001);
}

TEST(extremes_are_counted)
{
	histogram_add(&h, -5);
	histogram_add(&h, INT64_MAX);
	assert_int_equal(histogram_percentile(&h, 50), 0);
	assert_int_equal(histogram_percentile(&h, 100), INT64_MAX);
}

/* A trace may have a million queues. */
TEST(one_value_takes_one_row)
{
	int rows = 0;

	histogram_add(&h, 1000001);
	for (int i = 0; i < HISTOGRAM_ROWS; i++)
		rows += !!h.rows[i];
	assert_int_equal(rows, 1);
	assert_true(sizeof(h) < 600);
}
