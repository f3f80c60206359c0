#include <stdlib.h>

#include "analyzer/facts/answer.h"
#include "analyzer/profile/cluster.h"
#include "tests/test.h"

static struct profile *profile;
static struct cluster clusters[CLUSTERS];

static int make_profile(void **state)
{
	(void)state;
	profile = calloc(1, sizeof(*profile));
	assert_non_null(profile);
	profile->requests[2][7] = calloc(1, sizeof(struct profile_requests));
	assert_non_null(profile->requests[2][7]);
	return 0;
}

static int free_profile(void **state)
{
	(void)state;
	profile_free(profile);
	return 0;
}

FIXTURE(make_profile, free_profile);

/* @n requests took @ns, and up to @spread more. */
static void add_times(int n, int64_t ns, int64_t spread)
{
	for (int i = 0; i < n; i++)
		histogram_add(&profile->requests[2][7]->latency, ns + spread * i / n);
}

TEST(the_longest_rnr_timer_is_found)
{
	add_times(10000, 5000, 20000);
	add_times(5, 655362000, 50000);
	add_times(4, 2 * 655361000ll, 50000);
	assert_int_equal(cluster_find(profile, clusters), 2);
	assert_true(clusters[0].rnr && clusters[0].constant == 655360000);
	assert_int_equal(clusters[0].times, 1);
	assert_int_equal(clusters[0].n, 5);
	assert_int_equal(clusters[1].times, 2);
	assert_int_equal(clusters[1].n, 4);
}

TEST(a_timeout_is_looked_for_where_a_queue_pair_has_it)
{
	add_times(10000, 5000, 20000);
	add_times(7, (4096 << 14) + 1000, 20000);
	assert_int_equal(cluster_find(profile, clusters), 0);
	profile->timeouts = 1u << 14;
	assert_int_equal(cluster_find(profile, clusters), 1);
	assert_true(!clusters[0].rnr && clusters[0].code == 14 && clusters[0].n == 7);
}

/* HZ is 250: 67.1 ms are 16 ticks, the first of which is over at once. */
TEST(a_timer_of_ticks_may_be_early)
{
	profile->timeouts = 1u << 14;
	add_times(10000, 5000, 20000);
	add_times(20, 60500000, 4000000);
	assert_int_equal(cluster_find(profile, clusters), 1);
	assert_int_equal(clusters[0].n, 20);
	assert_int_equal(clusters[0].of, 10020);
	assert_true(clusters[0].from <= 60500000 && clusters[0].from > 58000000);
	assert_true(clusters[0].to >= 64200000 && clusters[0].to < 67000000);
}

TEST(a_short_timer_is_not_early)
{
	profile->timeouts = 1u << 10; /* 4.19 ms */
	add_times(10000, 5000, 20000);
	add_times(20, 3700000, 100000);
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(what_is_sent_again_at_any_time_until_it_is_no_cluster)
{
	profile->timeouts = 1u << 14;
	add_times(10000, 5000, 20000);
	add_times(60, 5000000, 62000000); /* a timer that ran already */
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(its_queues_are_those_that_have_the_timer)
{
	struct profile_queue with = { .timeouts = 1u << 14 }, without = { 0 };
	struct histogram times = { 0 };

	histogram_add(&times, (4096 << 14) + 1000);
	with.latency = without.latency = &times;
	profile->timeouts = 1u << 14;
	add_times(10000, 5000, 20000);
	add_times(7, (4096 << 14) + 1000, 20000);
	assert_int_equal(cluster_find(profile, clusters), 1);
	assert_true(cluster_has(&clusters[0], &with));
	assert_false(cluster_has(&clusters[0], &without));
	histogram_fini(&times);
	assert_false(cluster_has(&clusters[0], &with));
}

TEST(times_that_spread_over_it_are_no_cluster)
{
	profile->timeouts = 1u << 14;
	add_times(10000, 5000, 20000);
	add_times(1000, 40000000, 60000000); /* 40 to 100 ms, with 67.1 ms amid them */
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(a_timer_as_short_as_what_requests_take_says_nothing)
{
	profile->timeouts = 1u << 1; /* 8.2 us */
	add_times(10000, 8192, 100);
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(two_of_them_are_chance)
{
	add_times(10000, 5000, 20000);
	add_times(2, 655362000, 50000);
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(nothing_has_no_cluster)
{
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(rnr_timers_are_those_of_the_specification)
{
	assert_int_equal(answer_rnr_time(0), 655360000);
	assert_int_equal(answer_rnr_time(1), 10000);
	assert_int_equal(answer_rnr_time(12), 640000);
	assert_int_equal(answer_rnr_time(31), 491520000);
}
