/*
 * replay/load/load_join.c: classes of senders, and their patterns
 */
#include "replay/load/load_join.h"

#include "tests/replay/senders.h"

static void is_found(void **state)
{
	const enum load_pattern *pattern = *state;
	struct load load = { 0 };

	add_pattern(&load, *pattern, 16, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(load.classes[0].pattern, *pattern);
	assert_int_equal(load.classes[0].nedges, load.classes[0].ntracks);
	load_fini(&load);
}

static const struct row {
	const char *name;
	enum load_pattern pattern;
} rows[] = {
	{ "all_to_all", LOAD_ALL_TO_ALL },
	{ "hypercube", LOAD_HYPERCUBE },
	{ "ring", LOAD_RING },
	{ "ring_back", LOAD_RING_BACK },
	{ "tree_up", LOAD_TREE_UP },
	{ "binomial_down", LOAD_BINOMIAL_DOWN },
	{ "pairs", LOAD_PAIRS },
	{ "halves", LOAD_HALVES },
	{ "halves_down", LOAD_HALVES_DOWN },
	{ "to_root", LOAD_TO_ROOT },
	{ "knomial", LOAD_KNOMIAL_DOWN },
	{ "self", LOAD_SELF },
};

static void is_found_row(void **state)
{
	const struct row *row = *state;
	enum load_pattern pattern = row->pattern;
	void *at = &pattern;

	is_found(&at);
}
TEST_ROWS(rows, is_found_row);

TEST(two_patterns_of_alike_senders_are_split)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_pattern(&load, LOAD_RING_BACK, 8, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 2);
	assert_int_equal(load.classes[0].pattern, LOAD_RING);
	assert_int_equal(load.classes[1].pattern, LOAD_RING_BACK);
	load_fini(&load);
}

TEST(other_sizes_are_another_class)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_pattern(&load, LOAD_TREE_UP, 8, 4096);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 2);
	assert_int_equal(load.classes[0].pattern, LOAD_RING);
	assert_int_equal(load.classes[1].pattern, LOAD_TREE_UP);
	load_fini(&load);
}

TEST(an_edge_more_is_left)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_sender(&load, 0, 5, 100, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 2);
	for (int i = 0; i < 2; i++) {
		const struct load_class *class = &load.classes[i];

		assert_int_equal(class->nedges, class->pattern == LOAD_RING ? 8 : 1);
	}
	load_fini(&load);
}

TEST(an_edge_less_is_no_pattern)
{
	struct load load = { 0 };

	for (uint32_t i = 0; i < 7; i++)
		add_sender(&load, i, (i + 1) % 8, 100, 64);
	assert_int_equal(load_join(&load), 0);
	for (size_t i = 0; i < load.nclasses; i++)
		assert_int_not_equal(load.classes[i].pattern, LOAD_RING);
	load_fini(&load);
}

TEST(several_queue_pairs_of_an_edge_count_if_equal)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_pattern(&load, LOAD_RING, 8, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(load.classes[0].pattern, LOAD_RING);
	assert_int_equal(load.classes[0].nedges, 16);
	load_fini(&load);
}

TEST(two_ranks_have_no_pattern)
{
	struct load load = { 0 };

	add_sender(&load, 0, 1, 100, 64);
	add_sender(&load, 1, 0, 100, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(load.classes[0].pattern, LOAD_LIST);
	load_fini(&load);
}

/* Ranks in the order in which their processes have begun. */
static const uint32_t by_chance[] = { 0, 2, 4, 6, 1, 3, 5, 7 };

TEST(ranks_without_a_launcher_are_numbered_along_a_ring)
{
	struct load load = { 0 };

	for (uint32_t i = 0; i < 8; i++) {
		add_sender(&load, by_chance[i], by_chance[(i + 1) % 8], 100, 64);
		add_sender(&load, by_chance[i], by_chance[(i + 7) % 8], 100, 4096);
	}
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 2);
	assert_int_equal(load.classes[0].pattern, LOAD_RING);
	assert_int_equal(load.classes[1].pattern, LOAD_RING_BACK);
	load_fini(&load);
}

TEST(numbers_of_a_launcher_are_kept)
{
	struct load load = { .numbered = true };

	for (uint32_t i = 0; i < 8; i++)
		add_sender(&load, by_chance[i], by_chance[(i + 1) % 8], 100, 64);
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(load.classes[0].pattern, LOAD_LIST);
	load_fini(&load);
}

TEST(two_rings_are_not_one)
{
	struct load load = { 0 };

	for (uint32_t i = 0; i < 8; i++)
		add_sender(&load, i, i < 4 ? (i + 1) % 4 : 4 + (i + 1) % 4, 100, 64);
	assert_int_equal(load_join(&load), 0);
	for (size_t i = 0; i < load.nclasses; i++)
		assert_int_not_equal(load.classes[i].pattern, LOAD_RING);
	load_fini(&load);
}

TEST(a_root_is_the_first_rank)
{
	struct load load = { 0 };

	for (uint32_t i = 0; i < 8; i++)
		if (i != 5) {
			add_sender(&load, i, 5, 100, 64);
			add_sender(&load, 5, i, 100, 4096);
		}
	assert_int_equal(load_join(&load), 0);
	assert_int_equal(load.nclasses, 2);
	assert_int_equal(load.classes[0].pattern, LOAD_FROM_ROOT);
	assert_int_equal(load.classes[1].pattern, LOAD_TO_ROOT);
	load_fini(&load);
}

/* An edge keeps its track: the starts of add_sender() show whose it was. */
TEST(an_edge_keeps_its_track)
{
	struct load load = { 0 };

	add_pattern(&load, LOAD_RING, 8, 64);
	add_pattern(&load, LOAD_RING_BACK, 8, 64);
	assert_int_equal(load_join(&load), 0);
	for (size_t i = 0; i < load.nclasses; i++)
		for (size_t k = 0; k < load.classes[i].nedges; k++)
			assert_int_equal(load.classes[i].tracks[k].start,
					 100 * load.classes[i].edges[k].from);
	load_fini(&load);
}
