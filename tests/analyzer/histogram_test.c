#include <stdlib.h>

#include "analyzer/profile/histogram.h"
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
	assert_true(sizeof(h) < 640);
}

/* The exact one: the smallest value that @percent of all do not exceed. */
static uint64_t exact_percentile(const uint64_t *sorted, size_t n, double percent)
{
	double rank = percent / 100 * (double)n;
	size_t i = (size_t)rank;

	if ((double)i < rank)
		i++;
	return sorted[i ? i - 1 : 0];
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Uniform over all magnitudes: from 1 ns to hours. */
static uint64_t draw_time(unsigned int *seed)
{
	uint64_t bits = (uint64_t)rand_r(seed) << 31 | (uint64_t)rand_r(seed);

	return bits >> (rand_r(seed) % 60);
}

TEST(percentiles_of_random_times_are_within_the_error)
{
	static const double percents[] = { 0, 1, 10, 50, 90, 99, 99.9, 100 };
	enum { ROUNDS = 50, MOST = 5000 };
	static uint64_t values[MOST];
	unsigned int seed = 20261123;

	for (int round = 0; round < ROUNDS; round++) {
		size_t n = 1 + (size_t)rand_r(&seed) % MOST;

		histogram_fini(&h);
		for (size_t i = 0; i < n; i++) {
			values[i] = draw_time(&seed);
			histogram_add(&h, (int64_t)values[i]);
		}
		qsort(values, n, sizeof(*values), compare_values);
		for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
			uint64_t exact = exact_percentile(values, n, percents[i]);
			uint64_t ours = (uint64_t)histogram_percentile(&h, percents[i]);

			assert_true(ours >= exact && ours - exact <= exact / 32);
		}
		assert_int_equal(h.least, values[0]);
		assert_int_equal(h.max, values[n - 1]);
	}
}

TEST(merged_is_as_if_all_were_added_to_one)
{
	struct histogram a = { 0 }, b = { 0 };
	unsigned int seed = 7;

	for (int i = 0; i < 10000; i++) {
		int64_t value = (int64_t)draw_time(&seed);

		histogram_add(i % 3 ? &a : &b, value);
		histogram_add(&h, value);
	}
	histogram_merge(&a, &b);
	assert_int_equal(a.count, h.count);
	assert_int_equal(a.total, h.total);
	assert_int_equal(a.least, h.least);
	assert_int_equal(a.max, h.max);
	for (unsigned int i = 0; i < HISTOGRAM_CLASSES; i++) {
		uint64_t from, to;

		assert_int_equal(histogram_count_class(&a, i, &from, &to),
				 histogram_count_class(&h, i, &from, &to));
	}
	histogram_fini(&a);
	histogram_fini(&b);
}

TEST(classes_follow_each_other_without_a_gap)
{
	uint64_t from, to, last = 0;

	for (unsigned int i = 0; i < HISTOGRAM_CLASSES - HISTOGRAM_ROW; i++) {
		histogram_count_class(&h, i, &from, &to);
		assert_int_equal(from, last);
		assert_int_equal(histogram_class_of(from), i);
		assert_int_equal(histogram_class_of(to), i);
		last = to + 1;
	}
}

TEST(between_counts_whole_classes)
{
	for (int i = 0; i < 1000; i++)
		histogram_add(&h, i);
	assert_int_equal(histogram_count_between(&h, 10, 20), 11);
	assert_int_equal(histogram_count_between(&h, 0, 5000), 1000);
	assert_int_equal(histogram_count_between(&h, 64, 65), 2);
	assert_int_equal(histogram_count_between(&h, 65, 66), 4);
}

TEST(what_was_added_since_is_left)
{
	struct histogram before = { 0 }, now = { 0 };

	for (int i = 0; i < 1000; i++)
		histogram_add(&before, i);
	histogram_merge(&now, &before);
	for (int i = 0; i < 100; i++)
		histogram_add(&now, 5000 + i);
	histogram_subtract(&now, &before);
	assert_int_equal(now.count, 100);
	assert_in_range(histogram_mean(&now), 5000, 5099);
	assert_in_range(histogram_percentile(&now, 1), 5000, 5000 + 5000 / 32);
	assert_int_equal(now.max, 5099);
	assert_in_range(now.least, 4800, 5000);
	histogram_fini(&before);
	histogram_merge(&before, &now);
	histogram_subtract(&now, &before);
	assert_int_equal(now.count, 0);
	assert_int_equal(now.max, 0);
	assert_int_equal(histogram_percentile(&now, 50), -1);
	histogram_fini(&now);
	histogram_fini(&before);
}

/* The lowest class, too, has a least value. */
TEST(what_was_added_since_may_be_zero)
{
	struct histogram before = { 0 }, now = { 0 };

	histogram_add(&before, 1);
	histogram_merge(&now, &before);
	histogram_add(&now, 0);
	histogram_add(&now, 100);
	histogram_subtract(&now, &before);
	assert_int_equal(now.least, 0);
	assert_in_range(now.max, 100, 103);
	assert_int_equal(now.total, 100);
	histogram_fini(&now);
	histogram_fini(&before);
}
