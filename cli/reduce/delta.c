/*
 * Delta debugging
 *
 *	all      [................]      no
 *	halves   [xxxxxxxx]........      yes: the rest is left
 *	quarters          [xxxx]....     no
 *	                  ....[xxxx]     yes
 *	...
 *
 * after A. Zeller and R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input, 2002, with
 * complements only: the needed parts are usually scattered, so a single part never reproduces the
 * goal.
 */
#include "cli/reduce/delta.h"

#include <string.h>

enum { WIDTH_MAX = 16 };

/* Drop the items that were removed together with others. Returns how many are left. */
static size_t drop_removed_items(const struct delta *delta, size_t *items, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (delta->is_left(delta->arg, items[i]))
			items[left++] = items[i];
	return left;
}

/* One pass with runs of @run, after which *@n are left. 1: some were removed; 0; or -errno. */
static int remove_runs(const struct delta *delta, size_t *items, size_t *n, size_t run)
{
	size_t at = 0;
	int any = 0;

	while (at < *n) {
		struct delta_range ranges[WIDTH_MAX];
		size_t count = 0;
		int taken;

		for (size_t i = at; i < *n && count < delta->width && count < WIDTH_MAX; i += run)
			ranges[count++] = (struct delta_range){ i, i + run < *n ? i + run : *n };
		taken = delta->try(delta->arg, items, ranges, count);
		if (taken < 0)
			return taken;
		if ((size_t)taken == count) {
			at = ranges[count - 1].last;
			continue;
		}
		any = 1;
		at = ranges[taken].first;
		memmove(items + at, items + ranges[taken].last,
			(*n - ranges[taken].last) * sizeof(*items));
		*n -= ranges[taken].last - at;
		*n = at + drop_removed_items(delta, items + at, *n - at);
	}
	return any;
}

int delta_reduce(const struct delta *delta, size_t *items, size_t n)
{
	size_t run;
	int any = 0;

	n = drop_removed_items(delta, items, n);
	run = n;
	if (*delta->run && *delta->run < n)
		run = *delta->run;
	for (; run && run >= delta->least && n; run = run == 1 ? 0 : (run + 1) / 2) {
		int taken;

		*delta->run = run;
		taken = remove_runs(delta, items, &n, run);
		if (taken < 0)
			return taken;
		any |= taken;
		n = drop_removed_items(delta, items, n);
		if (run > n)
			run = n;
	}
	*delta->run = 0;
	return any;
}
