#pragma once
/*
 * Delta debugging: remove as many items as possible. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Removable items are numbered from 0. @try removes those from @first to @last - 1 of @items, for
 * @n alternative choices at a time, and returns the index of the first choice that still reproduces
 * the goal, which is removed for good; @n: none does; or -errno.
 */
struct delta_range {
	size_t first, last;
};

struct delta {
	int (*try)(void *arg, const size_t *items, const struct delta_range *ranges, size_t n);
	/* Is @item, or a part of it, still present? */
	bool (*is_left)(void *arg, size_t item);
	void *arg;
	size_t width; /* number of choices at a time */
	size_t least; /* length of the shortest runs; 0: single ones */
	size_t *run;  /* current length of runs, to resume: longer ones were tried; 0: start */
};

/*
 * Remove unneeded elements of @items (@n of them, changed): runs of half of them, then of a
 * quarter, and so on to single ones. 1: something was removed; 0; or -errno.
 */
int delta_reduce(const struct delta *delta, size_t *items, size_t n);
