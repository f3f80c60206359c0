/*
 * A table of patterns, with the condition under which one rank sends to another
 */
#include "replay/load/load_pattern.h"

#include <string.h>

static bool is_power(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_ring(uint32_t from, uint32_t to, uint32_t n)
{
	return to == (from + 1) % n;
}

static bool is_ring_back(uint32_t from, uint32_t to, uint32_t n)
{
	return is_ring(to, from, n);
}

static bool is_any(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return from != to;
}

static bool is_hypercube(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return is_power(from ^ to);
}

static bool is_dissemination(uint32_t from, uint32_t to, uint32_t n)
{
	return is_power((to + n - from) % n);
}

static bool is_binomial_up(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return from && to == (from & (from - 1));
}

static bool is_binomial_down(uint32_t from, uint32_t to, uint32_t n)
{
	return is_binomial_up(to, from, n);
}

static bool is_tree_up(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return from && to == (from - 1) / 2;
}

static bool is_tree_down(uint32_t from, uint32_t to, uint32_t n)
{
	return is_tree_up(to, from, n);
}

static bool is_to_root(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return from && !to;
}

static bool is_from_root(uint32_t from, uint32_t to, uint32_t n)
{
	return is_to_root(to, from, n);
}

/* Is @to @from with its lowest non-zero base-4 digit cleared? As in a broadcast of Open MPI. */
static bool is_knomial_up(uint32_t from, uint32_t to, uint32_t n)
{
	uint32_t digit = 3;

	(void)n;
	while (from && !(from & digit))
		digit <<= 2;
	return from && to == (from & ~digit);
}

static bool is_knomial_down(uint32_t from, uint32_t to, uint32_t n)
{
	return is_knomial_up(to, from, n);
}

static bool is_pair(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return to == (from ^ 1);
}

static bool is_pair_above(uint32_t from, uint32_t to, uint32_t n)
{
	return is_pair(from, to, n) && from < to;
}

static bool is_pair_below(uint32_t from, uint32_t to, uint32_t n)
{
	return is_pair(from, to, n) && from > to;
}

static bool is_opposite(uint32_t from, uint32_t to, uint32_t n)
{
	return to == (from + n / 2) % n;
}

static bool is_opposite_above(uint32_t from, uint32_t to, uint32_t n)
{
	return is_opposite(from, to, n) && from < to;
}

static bool is_opposite_below(uint32_t from, uint32_t to, uint32_t n)
{
	return is_opposite(from, to, n) && from > to;
}

static bool is_self(uint32_t from, uint32_t to, uint32_t n)
{
	(void)n;
	return from == to;
}

enum accepted_ranks { ANY, EVEN, POWER };

/* clang-format off */
static const struct {
	const char *name, *help;
	bool (*has)(uint32_t from, uint32_t to, uint32_t n);
	enum accepted_ranks takes;
} patterns[LOAD_PATTERNS] = {
	[LOAD_ALL_TO_ALL]    = { "all-to-all", "each rank to every other", is_any, ANY },
	[LOAD_HYPERCUBE]     = { "hypercube", "r to r xor 1, 2, 4, ...", is_hypercube, POWER },
	[LOAD_DISSEMINATION] = { "dissemination", "r to r + 1, r + 2, r + 4, ... modulo the ranks",
				 is_dissemination, ANY },
	[LOAD_RING]          = { "ring", "r to r + 1, the last to 0", is_ring, ANY },
	[LOAD_RING_BACK]     = { "ring-back", "r to r - 1, 0 to the last", is_ring_back, ANY },
	[LOAD_BINOMIAL_UP]   = { "binomial-up", "r to r with its lowest set bit cleared",
				 is_binomial_up, ANY },
	[LOAD_BINOMIAL_DOWN] = { "binomial-down", "the reverse", is_binomial_down, ANY },
	[LOAD_TREE_UP]       = { "tree-up", "r to (r - 1) / 2", is_tree_up, ANY },
	[LOAD_TREE_DOWN]     = { "tree-down", "the reverse", is_tree_down, ANY },
	[LOAD_TO_ROOT]       = { "to-root", "each other rank to 0", is_to_root, ANY },
	[LOAD_FROM_ROOT]     = { "from-root", "0 to each other rank", is_from_root, ANY },
	[LOAD_KNOMIAL_UP]    = { "knomial4-up",
				 "r to r with its lowest non-zero digit in base 4 set to 0",
				 is_knomial_up, ANY },
	[LOAD_KNOMIAL_DOWN]  = { "knomial4-down", "the reverse", is_knomial_down, ANY },
	[LOAD_PAIRS]         = { "pairs", "0 and 1, 2 and 3, ... to each other", is_pair, EVEN },
	[LOAD_HALVES]        = { "halves", "r and r + half the ranks to each other", is_opposite,
				 EVEN },
	[LOAD_PAIRS_UP]      = { "pairs-up", "0 to 1, 2 to 3, ...", is_pair_above, EVEN },
	[LOAD_PAIRS_DOWN]    = { "pairs-down", "the reverse", is_pair_below, EVEN },
	[LOAD_HALVES_UP]     = { "halves-up", "r to r + half the ranks", is_opposite_above, EVEN },
	[LOAD_HALVES_DOWN]   = { "halves-down", "the reverse", is_opposite_below, EVEN },
	[LOAD_SELF]          = { "self", "each rank to itself", is_self, ANY },
};
/* clang-format on */

const char *load_pattern_name(enum load_pattern pattern)
{
	return pattern < LOAD_PATTERNS ? patterns[pattern].name : NULL;
}

const char *load_pattern_help(enum load_pattern pattern)
{
	return patterns[pattern].help;
}

enum load_pattern load_pattern_find(const char *name)
{
	for (unsigned int i = LOAD_LIST + 1; i < LOAD_PATTERNS; i++)
		if (!strcmp(patterns[i].name, name))
			return (enum load_pattern)i;
	return LOAD_LIST;
}

bool load_pattern_takes(enum load_pattern pattern, uint32_t n)
{
	if (pattern == LOAD_LIST || n < 2)
		return false;
	switch (patterns[pattern].takes) {
	case EVEN:
		return !(n % 2);
	case POWER:
		return is_power(n);
	default:
		return true;
	}
}

bool load_pattern_has(enum load_pattern pattern, uint32_t from, uint32_t to, uint32_t n)
{
	if (from == to && pattern != LOAD_SELF)
		return false;
	return from < n && to < n && patterns[pattern].has(from, to, n);
}
