/*
 * replay/load/load.c: traffic in memory
 */
#include "replay/load/load.h"

#include <stdlib.h>

#include "core/model/operation.h"
#include "tests/test.h"

static bool is_send(int opcode)
{
	return opcode == ABI_WR_SEND;
}

TEST(a_kind_is_found_again)
{
	struct load load = { 0 };
	uint32_t first, other, again;

	assert_int_equal(load_find_kind(&load, ABI_WR_SEND, 64, &first), 0);
	assert_int_equal(load_find_kind(&load, ABI_WR_RDMA_WRITE, 64, &other), 0);
	assert_int_equal(load_find_kind(&load, ABI_WR_SEND, 64, &again), 0);
	assert_int_equal(first, again);
	assert_int_not_equal(first, other);
	assert_int_equal(load.nkinds, 2);
	load_fini(&load);
}

/* SEND 10 at 0, WRITE 20 after 5 ns, SEND 10 after 7; the first again 100 ns after the last. */
static struct load_class *make_class(struct load *load)
{
	struct load_class *class = load_add_class(load);
	struct load_track *track;
	uint32_t send, write;

	assert_int_equal(load_find_kind(load, ABI_WR_SEND, 10, &send), 0);
	assert_int_equal(load_find_kind(load, ABI_WR_RDMA_WRITE, 20, &write), 0);
	class->tracks = track = calloc(1, sizeof(*track));
	class->edges = calloc(3, sizeof(*class->edges));
	class->ntracks = 1;
	class->nedges = 3;
	track->start = 1000;
	assert_int_equal(load_add_request(track, 100, send), 0);
	assert_int_equal(load_add_request(track, 5, write), 0);
	assert_int_equal(load_add_request(track, 7, send), 0);
	return class;
}

TEST(totals_are_those_of_all_senders)
{
	struct load load = { 0 };
	struct load_class *class = make_class(&load);
	struct load_totals totals = load_totals(&load);

	assert_int_equal(totals.senders, 3);
	assert_int_equal(totals.requests, 9);
	assert_true(totals.bytes == 120);
	assert_int_equal(totals.end, 1012);
	assert_int_equal(load_track_count(&load, class->tracks, is_send), 2);
	load_fini(&load);
}

TEST(a_track_begins_again)
{
	struct load load = { 0 };
	struct load_track *track = make_class(&load)->tracks;

	track->count = 8; /* two laps, and two requests */
	assert_true(load_track_duration(track) == 12 + 100 + 12 + 100 + 5);
	assert_int_equal(load_track_count(&load, track, is_send), 5);
	track->count = 0;
	assert_true(load_track_duration(track) == 0);
	load_fini(&load);
}

TEST(a_gap_has_a_limit)
{
	struct load_track track = { 0 };

	assert_int_equal(load_add_request(&track, UINT64_MAX, 0), 0);
	assert_true(track.requests[0].gap == LOAD_GAP_MOST);
	free(track.requests);
}

TEST(fini_accepts_zeros)
{
	struct load load = { 0 };

	load_fini(&load);
	load_fini(&load);
}
