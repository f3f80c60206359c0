#pragma once
/*
 * Delta debugging: take out as much as possible. One thread.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * What can be taken out is numbered from 0. @try takes out those from @first to @last - 1 of
 * @items, for @n choices of these at a time, and returns the index of the first choice that still
 * shows what is wanted, which is taken out for good; @n: none does; or -errno.
 */
struct delta_range {
	size_t first, last;
};

struct delta {
	int (*try)(void *arg, const size_t *items, const struct delta_range *ranges, size_t n);
	/* Is there anything of it left to be taken out? */
	bool (*is_left)(void *arg, size_t item);
	void *arg;
	size_t width; /* choices at a time */
};

/*
 * Take out of @items (@n of them, changed) what can be missed: runs of half of them, then of a
 * quarter, and so on to single ones. 1: something was; 0; or -errno.
 */
int delta_reduce(const struct delta *delta, size_t *items, size_t n);
