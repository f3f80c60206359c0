/*
 * replay/load/load_pattern.c: patterns of traffic among ranks
 */
#include "replay/load/load_pattern.h"

#include "tests/test.h"

static unsigned int count_edges(enum load_pattern pattern, uint32_t n)
{
	unsigned int count = 0;

	for (uint32_t from = 0; from < n; from++)
		for (uint32_t to = 0; to < n; to++)
			count += load_pattern_has(pattern, from, to, n);
	return count;
}

struct row {
	const char *name;
	enum load_pattern pattern;
	unsigned int edges8; /* among 8 ranks */
	uint32_t from, to;   /* one of them */
};

static const struct row rows[] = {
	{ "all-to-all", LOAD_ALL_TO_ALL, 56, 3, 7 },
	{ "hypercube", LOAD_HYPERCUBE, 24, 5, 1 },
	{ "dissemination", LOAD_DISSEMINATION, 24, 7, 3 },
	{ "ring", LOAD_RING, 8, 7, 0 },
	{ "ring-back", LOAD_RING_BACK, 8, 0, 7 },
	{ "binomial-up", LOAD_BINOMIAL_UP, 7, 6, 4 },
	{ "binomial-down", LOAD_BINOMIAL_DOWN, 7, 4, 6 },
	{ "tree-up", LOAD_TREE_UP, 7, 6, 2 },
	{ "tree-down", LOAD_TREE_DOWN, 7, 2, 6 },
	{ "to-root", LOAD_TO_ROOT, 7, 5, 0 },
	{ "from-root", LOAD_FROM_ROOT, 7, 0, 5 },
	{ "knomial4-up", LOAD_KNOMIAL_UP, 7, 6, 4 },
	{ "knomial4-down", LOAD_KNOMIAL_DOWN, 7, 0, 4 },
	{ "pairs", LOAD_PAIRS, 8, 5, 4 },
	{ "pairs-up", LOAD_PAIRS_UP, 4, 4, 5 },
	{ "pairs-down", LOAD_PAIRS_DOWN, 4, 5, 4 },
	{ "halves", LOAD_HALVES, 8, 5, 1 },
	{ "halves-up", LOAD_HALVES_UP, 4, 1, 5 },
	{ "halves-down", LOAD_HALVES_DOWN, 4, 5, 1 },
	{ "self", LOAD_SELF, 8, 5, 5 },
};

static void has_its_edges(void **state)
{
	const struct row *row = *state;

	assert_int_equal(load_pattern_find(row->name), row->pattern);
	assert_string_equal(load_pattern_name(row->pattern), row->name);
	assert_non_null(load_pattern_help(row->pattern));
	assert_true(load_pattern_takes(row->pattern, 8));
	assert_int_equal(count_edges(row->pattern, 8), row->edges8);
	assert_true(load_pattern_has(row->pattern, row->from, row->to, 8));
}
TEST_ROWS(rows, has_its_edges);

TEST(all_patterns_are_tried)
{
	assert_int_equal(sizeof(rows) / sizeof(*rows), LOAD_PATTERNS - 1);
}

TEST(no_rank_sends_beyond_or_unasked_to_itself)
{
	for (unsigned int p = LOAD_LIST + 1; p < LOAD_PATTERNS; p++) {
		assert_int_equal(load_pattern_has((enum load_pattern)p, 3, 3, 8), p == LOAD_SELF);
		assert_false(load_pattern_has((enum load_pattern)p, 8, 8, 8));
		assert_false(load_pattern_has((enum load_pattern)p, 0, 8, 8));
		assert_false(load_pattern_has((enum load_pattern)p, 8, 0, 8));
	}
}

TEST(some_need_an_even_number_or_a_power)
{
	assert_false(load_pattern_takes(LOAD_PAIRS, 7));
	assert_false(load_pattern_takes(LOAD_HALVES_UP, 7));
	assert_false(load_pattern_takes(LOAD_HYPERCUBE, 6));
	assert_true(load_pattern_takes(LOAD_DISSEMINATION, 6));
	assert_false(load_pattern_takes(LOAD_RING, 1));
	assert_false(load_pattern_takes(LOAD_LIST, 8));
}

TEST(others_have_no_name)
{
	assert_int_equal(load_pattern_find("star"), LOAD_LIST);
	assert_null(load_pattern_name(LOAD_PATTERNS));
}
