/*
 * replay/load/load_change.c: more ranks, other sizes, mixed traffic
 */
#include "replay/load/load_change.h"

#include <errno.h>
#include <math.h>

#include "core/wire/log.h"
#include "replay/load/load_join.h"
#include "tests/replay/senders.h"

static int be_quiet(void **state)
{
	(void)state;
	log_silence(true);
	return 0;
}
GROUP(be_quiet, NULL);

static struct load make_load(enum load_pattern pattern, uint32_t n)
{
	struct load load = { 0 };

	add_pattern(&load, pattern, n, 64);
	assert_int_equal(load_join(&load), 0);
	return load;
}

TEST(a_ring_goes_on)
{
	struct load load = make_load(LOAD_RING, 16);
	const struct load_class *class;

	assert_int_equal(load_scale_ranks(&load, 4), 0);
	class = load.classes;
	assert_int_equal(load.nranks, 64);
	assert_int_equal(class->nedges, 64);
	assert_int_equal(class->ntracks, 16);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(class->edges[i].from, i);
		assert_int_equal(class->edges[i].to, (i + 1) % 64);
	}
	load_fini(&load);
}

TEST(all_to_all_grows_by_its_square)
{
	struct load load = make_load(LOAD_ALL_TO_ALL, 4);

	assert_int_equal(load_scale_ranks(&load, 4), 0);
	assert_int_equal(load_totals(&load).senders, 16 * 15);
	load_fini(&load);
}

TEST(queue_pairs_of_an_edge_stay_as_many)
{
	struct load load = { 0 };

	for (int i = 0; i < 3; i++)
		add_pattern(&load, LOAD_RING, 8, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load_scale_ranks(&load, 2), 0);
	assert_int_equal(load_totals(&load).senders, 48);
	load_fini(&load);
}

TEST(other_traffic_is_refused)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_sender(&load, 0, 5, 100, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load_scale_ranks(&load, 2), -ENOTSUP);
	assert_int_equal(load.nranks, 8);
	load_fini(&load);
}

TEST(a_little_other_traffic_is_dropped)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_sender(&load, 0, 5, 30, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load_scale_ranks(&load, 2), 0);
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(load.dropped, 30);
	assert_int_equal(load_totals(&load).senders, 16);
	load_fini(&load);
}

/* As in a short job of Open MPI: each pair of ranks that ever communicates exchanges addresses. */
TEST(many_small_requests_at_the_start_are_dropped)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 4096);
	for (uint32_t from = 0; from < 8; from++)
		for (uint32_t to = 0; to < from; to++)
			add_sender(&load, from, to, 3 + from % 5, 60);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load_scale_ranks(&load, 2), 0);
	assert_true(load.dropped > 100);
	assert_int_equal(load_totals(&load).senders, 16);
	load_fini(&load);
}

/* Few requests may have most of the bytes. */
TEST(a_few_large_requests_are_not_dropped)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_sender(&load, 0, 5, 1, 1 << 20);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load_scale_ranks(&load, 2), -ENOTSUP);
	load_fini(&load);
}

TEST(a_hypercube_needs_a_power_of_two)
{
	struct load load = make_load(LOAD_HYPERCUBE, 8);

	assert_int_equal(load_scale_ranks(&load, 3), -ENOTSUP);
	assert_int_equal(load_scale_ranks(&load, 2), 0);
	assert_int_equal(load_totals(&load).senders, 16 * 4);
	load_fini(&load);
}

TEST(sizes_are_multiplied_but_for_atomics)
{
	struct load load = make_load(LOAD_RING, 4);
	uint32_t kind;

	assert_int_equal(load_find_kind(&load, ABI_WR_ATOMIC_FETCH_AND_ADD, 8, &kind), 0);
	assert_int_equal(load_scale_sizes(&load, 2.5), 0);
	assert_int_equal(load.kinds[0].bytes, 160);
	assert_int_equal(load.kinds[kind].bytes, 8);
	assert_int_equal(load_scale_sizes(&load, 1e8), -ERANGE);
	load_fini(&load);
}

static double rate_of(const struct load *load, size_t from, size_t to)
{
	struct load part = *load;

	part.classes += from;
	part.nclasses = to - from;
	return (double)load_totals(&part).requests / (double)load_totals(load).end;
}

TEST(a_mix_has_the_asked_parts)
{
	struct load load = make_load(LOAD_RING, 4), other = make_load(LOAD_PAIRS, 8);
	double sum, a, b;
	size_t first = load.nclasses;

	sum = (double)load_totals(&load).requests / (double)load_totals(&load).end +
	      (double)load_totals(&other).requests / (double)load_totals(&other).end;
	assert_int_equal(load_mix(&load, 3, &other, 1), 0);
	assert_int_equal(load.nranks, 12);
	assert_int_equal(other.nclasses, 0);
	a = rate_of(&load, 0, first);
	b = rate_of(&load, first, load.nclasses);
	assert_true(fabs(a / b - 3) < 0.03);
	assert_true(fabs((a + b) / sum - 1) < 0.02);
	for (size_t i = first; i < load.nclasses; i++)
		for (size_t k = 0; k < load.classes[i].nedges; k++)
			assert_true(load.classes[i].edges[k].from >= 4);
	load_fini(&load);
}

TEST(what_takes_no_time_is_not_mixed)
{
	struct load load = { 0 }, other = make_load(LOAD_RING, 4);

	add_sender(&load, 0, 1, 1, 64);
	assert_int_equal(load_mix(&load, 1, &other, 1), -EINVAL);
	load_fini(&load);
	load_fini(&other);
}
