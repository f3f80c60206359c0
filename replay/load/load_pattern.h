#pragma once
/*
 * Patterns of traffic among ranks, which hold for any number of ranks. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With fewer ranks, edges fit several patterns: for 2, ring, tree and all-to-all are the same. */
enum { LOAD_PATTERN_RANKS = 4 };

/* In the order of the search: a pattern that contains others precedes them. */
enum load_pattern {
	LOAD_LIST, /* none: the edges are listed */
	LOAD_ALL_TO_ALL,
	LOAD_HYPERCUBE,
	LOAD_DISSEMINATION,
	LOAD_RING,
	LOAD_RING_BACK,
	LOAD_BINOMIAL_UP,
	LOAD_BINOMIAL_DOWN,
	LOAD_TREE_UP,
	LOAD_TREE_DOWN,
	LOAD_TO_ROOT,
	LOAD_FROM_ROOT,
	LOAD_KNOMIAL_UP,
	LOAD_KNOMIAL_DOWN,
	LOAD_PAIRS,
	LOAD_HALVES,
	LOAD_PAIRS_UP,
	LOAD_PAIRS_DOWN,
	LOAD_HALVES_UP,
	LOAD_HALVES_DOWN,
	LOAD_SELF,
	LOAD_PATTERNS
};

/* "ring"; NULL past the last. */
const char *load_pattern_name(enum load_pattern pattern);

/* "rank r sends to r + 1" */
const char *load_pattern_help(enum load_pattern pattern);

/* Returns LOAD_LIST if no pattern has that name. */
enum load_pattern load_pattern_find(const char *name);

/* Is the pattern defined for @n ranks? Pairs need an even number, a hypercube a power of two. */
bool load_pattern_takes(enum load_pattern pattern, uint32_t n);

/* Does rank @from send to @to, among @n? */
bool load_pattern_has(enum load_pattern pattern, uint32_t from, uint32_t to, uint32_t n);
