#include <stdlib.h>

#include "analyzer/model/qp.h"
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

/* The first requests of stalls. */
static void add_stalls(unsigned int code, int n, int64_t ns, int64_t spread)
{
	if (!profile->stalls[code])
		profile->stalls[code] = calloc(1, sizeof(struct histogram));
	assert_non_null(profile->stalls[code]);
	for (int i = 0; i < n; i++)
		histogram_add(profile->stalls[code], ns + spread * i / n);
}

/* The same, for requests that found no receive at a peer with timer @code, one in each stall. */
static void add_stalled(unsigned int code, int n, int64_t ns, int64_t spread)
{
	add_times(n, ns, spread);
	if (!profile->stalled[code])
		profile->stalled[code] = calloc(1, sizeof(struct histogram));
	assert_non_null(profile->stalled[code]);
	for (int i = 0; i < n; i++)
		histogram_add(profile->stalled[code], ns + spread * i / n);
	add_stalls(code, n, ns, spread);
}

TEST(an_rnr_timer_that_made_requests_wait_is_found)
{
	add_times(10000, 5000, 20000);
	add_stalled(0, 5, 655362000, 50000);
	add_stalled(0, 4, 2 * 655361000ll, 50000);
	assert_int_equal(cluster_find(profile, clusters), 2);
	assert_true(clusters[0].code == 0 && clusters[0].constant == 655360000);
	assert_int_equal(clusters[0].times, 1);
	assert_int_equal(clusters[0].n, 5);
	assert_int_equal(clusters[1].times, 2);
	assert_int_equal(clusters[1].n, 4);
}

TEST(times_of_requests_that_found_a_receive_are_no_cluster)
{
	add_times(10000, 5000, 20000);
	add_times(50, 655362000, 50000);
	add_times(50, (4096 << 14) + 1000, 20000);
	assert_int_equal(cluster_find(profile, clusters), 0);
}

/* HZ is 250: 491.5 ms are 122 ticks, the first of which ends at once. */
TEST(a_timer_of_ticks_may_be_early)
{
	add_times(10000, 5000, 20000);
	add_stalled(31, 20, 484000000, 4000000);
	assert_int_equal(cluster_find(profile, clusters), 1);
	assert_int_equal(clusters[0].n, 20);
	assert_int_equal(clusters[0].of, 10020);
	assert_true(clusters[0].from <= 484000000 && clusters[0].from > 468000000);
	assert_true(clusters[0].to >= 487000000 && clusters[0].to < 503000000);
}

TEST(a_short_timer_is_not_early)
{
	add_times(10000, 5000, 20000);
	add_stalled(18, 20, 4500000, 100000); /* 5.12 ms */
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(its_queues_are_those_that_waited_for_the_timer)
{
	struct histogram times = { 0 };
	struct profile_queue with = { .stalled = &times, .stalled_by = 1 },
			     other = { .stalled = &times, .stalled_by = 2 },
			     without = { .latency = &times };

	histogram_add(&times, 655362000);
	add_times(10000, 5000, 20000);
	add_stalled(0, 7, 655362000, 20000);
	assert_int_equal(cluster_find(profile, clusters), 1);
	assert_true(cluster_has(&clusters[0], &with));
	assert_false(cluster_has(&clusters[0], &other));
	assert_false(cluster_has(&clusters[0], &without));
	histogram_fini(&times);
	assert_false(cluster_has(&clusters[0], &with));
}

TEST(times_that_spread_over_it_are_no_cluster)
{
	add_times(10000, 5000, 20000);
	add_stalled(0, 1000, 400000000, 600000000); /* 0.4 to 1 s, with 655 ms in the middle */
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(a_timer_as_short_as_what_requests_take_says_nothing)
{
	add_stalled(1, 10000, 10000, 100);
	assert_int_equal(cluster_find(profile, clusters), 0);
}

/* Sixteen requests that were queued behind each other waited for one receive. */
TEST(one_stall_is_no_cluster)
{
	add_times(10000, 5000, 20000);
	add_stalled(0, 2, 655362000, 50000);
	for (int i = 0; i < 14; i++)
		histogram_add(profile->stalled[0], 655362000);
	assert_int_equal(cluster_find(profile, clusters), 0);
	add_stalls(0, 1, 655362000, 0);
	assert_int_equal(cluster_find(profile, clusters), 1);
	assert_int_equal(clusters[0].n, 16);
	assert_int_equal(clusters[0].stalls, 3);
}

TEST(two_of_them_are_chance)
{
	add_times(10000, 5000, 20000);
	add_stalled(0, 2, 655362000, 50000);
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(nothing_has_no_cluster)
{
	assert_int_equal(cluster_find(profile, clusters), 0);
}

TEST(rnr_timers_are_those_of_the_specification)
{
	assert_int_equal(qp_rnr_time(0), 655360000);
	assert_int_equal(qp_rnr_time(1), 10000);
	assert_int_equal(qp_rnr_time(12), 640000);
	assert_int_equal(qp_rnr_time(31), 491520000);
}
