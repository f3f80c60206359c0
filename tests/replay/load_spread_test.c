/*
 * replay/load/load_spread.c: shares of sizes and gaps, from tracks and to tracks
 */
#include "replay/load/load_spread.h"

#include <math.h>

#include "tests/replay/senders.h"

static struct load_share sizes[] = { { ABI_WR_SEND, 64, 80 }, { ABI_WR_RDMA_WRITE, 4096, 20 } };
static struct load_share gaps[] = { { LOAD_GAP, 0, 1 }, { LOAD_GAP, 1000, 1 } };

static struct load_track make_track(struct load *load, uint64_t requests, double rate)
{
	const struct load_summary summary = { .sizes = sizes,
					      .nsizes = 2,
					      .gaps = gaps,
					      .ngaps = 2,
					      .requests = requests,
					      .rate = rate,
					      .start = 42 };
	struct load_track track;

	assert_int_equal(load_make_track(load, &summary, 1, &track), 0);
	return track;
}

TEST(a_track_has_the_shares_exactly)
{
	struct load load = { 0 };
	struct load_track track = make_track(&load, 1000, 1e6);
	size_t small = 0, zero = 0, turns = 0;

	assert_int_equal(track.n, 1000);
	assert_int_equal(track.start, 42);
	for (size_t i = 0; i < track.n; i++) {
		small += load.kinds[track.requests[i].kind].bytes == 64;
		zero += i && !track.requests[i].gap;
		turns += i && track.requests[i].kind != track.requests[i - 1].kind;
	}
	assert_int_equal(small, 800);
	assert_in_range(zero, 499, 500);
	assert_in_range(turns, 200, 400); /* in random order */
	free(track.requests);
	load_fini(&load);
}

TEST(gaps_are_scaled_to_the_rate)
{
	struct load load = { 0 };
	struct load_track track = make_track(&load, 1001, 12345);
	double lasts = load_track_duration(&track);

	assert_true(fabs(lasts / (1000 / 12345.0 * 1e9) - 1) < 1e-6);
	free(track.requests);
	load_fini(&load);
}

TEST(a_long_track_begins_again)
{
	struct load load = { 0 };
	struct load_track track = make_track(&load, 1000000, 1e6);

	assert_in_range(track.n, 1000, 100000);
	assert_int_equal(track.count, 1000000);
	assert_true(fabs(load_track_duration(&track) / 1e9 - 1) < 1e-3);
	free(track.requests);
	load_fini(&load);
}

TEST(one_request_needs_no_rate)
{
	struct load load = { 0 };
	struct load_track track = make_track(&load, 1, 0);

	assert_int_equal(track.n, 1);
	assert_true(load_track_duration(&track) == 0);
	free(track.requests);
	load_fini(&load);
}

/* What was made of shares has these shares. */
TEST(a_summary_has_the_shares_of_its_tracks)
{
	struct load load = { 0 };
	struct load_class *class = load_add_class(&load);
	struct load_track *track = vec_push(class->tracks, class->ntracks);
	struct load_summary summary;

	*track = make_track(&load, 10000, 2e6);
	assert_int_equal(load_summarise(&load, class, &summary), 0);
	assert_int_equal(summary.requests, 10000);
	assert_int_equal(summary.start, 42);
	assert_true(fabs(summary.rate / 2e6 - 1) < 1e-3);
	assert_int_equal(summary.nsizes, 2);
	assert_int_equal(summary.sizes[0].opcode, ABI_WR_RDMA_WRITE);
	assert_true(fabs(summary.sizes[0].weight - 0.2) < 1e-3);
	assert_true(summary.sizes[1].value == 64);
	assert_int_equal(summary.ngaps, 2);
	assert_true(summary.gaps[0].value == 0);
	assert_true(fabs(summary.gaps[1].value - 1000) < 5);
	assert_true(fabs(summary.gaps[1].weight - 0.5) < 1e-3);
	load_fini_summary(&summary);
	load_fini(&load);
}

/* 200 sizes and gaps, and a rare long one of each: the totals hold, and the rare one is kept. */
TEST(many_values_become_few)
{
	struct load load = { 0 };
	struct load_class *class = load_add_class(&load);
	struct load_track *track = vec_push(class->tracks, class->ntracks);
	struct load_summary summary;
	double bytes = 0, sum = 0, mean = 0;

	for (uint32_t i = 0; i < 2001; i++) {
		uint32_t size = i == 1000 ? 1 << 20 : 100 + i % 200, kind;
		uint64_t gap = i == 1000 ? 1000000000 : 100 + i % 200;

		assert_int_equal(load_find_kind(&load, ABI_WR_SEND, size, &kind), 0);
		assert_int_equal(load_add_request(track, gap, kind), 0);
		bytes += size;
		sum += i ? (double)gap : 0;
	}
	assert_int_equal(load_summarise(&load, class, &summary), 0);
	assert_in_range(summary.nsizes, 2, LOAD_SHARES);
	assert_in_range(summary.ngaps, 2, LOAD_SHARES);
	for (size_t i = 0; i < summary.nsizes; i++)
		mean += summary.sizes[i].value * summary.sizes[i].weight;
	assert_true(fabs(mean * 2001 / bytes - 1) < 1e-9);
	mean = 0;
	for (size_t i = 0; i < summary.ngaps; i++)
		mean += summary.gaps[i].value * summary.gaps[i].weight;
	assert_true(fabs(mean * 2000 / sum - 1) < 1e-9);
	assert_true(summary.gaps[summary.ngaps - 1].value == 1e9);
	assert_true(summary.sizes[summary.nsizes - 1].value == 1 << 20);
	load_fini_summary(&summary);
	load_fini(&load);
}
