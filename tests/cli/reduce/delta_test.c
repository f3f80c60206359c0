/*
 * Delta debugging
 */
#include "cli/reduce/delta.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

enum { ITEMS = 64 };

/* The items that must stay, the remaining ones, and the number of trials. */
struct trace_of {
	bool needed[ITEMS], gone[ITEMS];
	size_t follows[ITEMS]; /* removed together with that one; 0: alone */
	size_t tries, fail_at, run, least;
};

static int try_ranges(void *arg, const size_t *items, const struct delta_range *ranges, size_t n)
{
	struct trace_of *of = arg;

	for (size_t r = 0; r < n; r++) {
		bool shown = true;

		if (++of->tries == of->fail_at)
			return -EIO;
		for (size_t i = ranges[r].first; i < ranges[r].last; i++)
			shown = shown && !of->needed[items[i]];
		if (!shown)
			continue;
		for (size_t i = ranges[r].first; i < ranges[r].last; i++)
			of->gone[items[i]] = true;
		for (size_t i = 0; i < ITEMS; i++)
			if (of->follows[i] && of->gone[of->follows[i]])
				of->gone[i] = true;
		return (int)r;
	}
	return (int)n;
}

static bool is_left(void *arg, size_t item)
{
	return !((struct trace_of *)arg)->gone[item];
}

static int reduce_items(struct trace_of *of, size_t width)
{
	const struct delta delta = { try_ranges, is_left, of, width, of->least, &of->run };
	size_t items[ITEMS];

	for (size_t i = 0; i < ITEMS; i++)
		items[i] = i;
	return delta_reduce(&delta, items, ITEMS);
}

static size_t count_left(const struct trace_of *of)
{
	size_t left = 0;

	for (size_t i = 0; i < ITEMS; i++)
		left += !of->gone[i];
	return left;
}

TEST(what_nothing_needs_goes_at_once)
{
	struct trace_of of = { 0 };

	assert_int_equal(reduce_items(&of, 1), 1);
	assert_int_equal(count_left(&of), 0);
	assert_int_equal(of.tries, 1);
}

TEST(what_is_needed_stays_alone)
{
	for (size_t width = 1; width <= 20; width++) {
		struct trace_of of = { .needed = { [3] = true, [40] = true, [41] = true } };

		assert_int_equal(reduce_items(&of, width), 1);
		assert_int_equal(count_left(&of), 3);
		assert_false(of.gone[3] || of.gone[40] || of.gone[41]);
	}
}

TEST(where_all_is_needed_nothing_goes)
{
	struct trace_of of;

	memset(&of, 0, sizeof(of));
	memset(of.needed, true, sizeof(of.needed));
	assert_int_equal(reduce_items(&of, 2), 0);
	assert_int_equal(count_left(&of), ITEMS);
}

TEST(what_went_with_others_is_not_tried)
{
	struct trace_of of = { .needed = { [0] = true } };

	for (size_t i = 2; i < ITEMS; i++)
		of.follows[i] = 1;
	of.needed[63] = false;
	assert_int_equal(reduce_items(&of, 1), 1);
	assert_int_equal(count_left(&of), 1);
}

TEST(it_continues_with_the_runs_that_are_next)
{
	struct trace_of of = { .needed = { [3] = true }, .run = 2 };
	size_t fresh;

	assert_int_equal(reduce_items(&of, 1), 1);
	assert_int_equal(count_left(&of), 1);
	assert_int_equal(of.run, 0);
	fresh = of.tries;
	of = (struct trace_of){ .needed = { [3] = true }, .fail_at = fresh };
	assert_int_equal(reduce_items(&of, 1), 1); /* it has fewer trials than that */
	of = (struct trace_of){ .needed = { [3] = true }, .fail_at = 4 };
	assert_int_equal(reduce_items(&of, 1), -EIO);
	assert_true(of.run > 1 && of.run < ITEMS);
}

TEST(short_runs_can_be_left_out)
{
	struct trace_of of = { .needed = { [3] = true }, .least = ITEMS / 4 };

	assert_int_equal(reduce_items(&of, 1), 1);
	assert_int_equal(count_left(&of), ITEMS / 4);
}

TEST(an_error_ends_it)
{
	struct trace_of of = { .needed = { [3] = true }, .fail_at = 4 };

	assert_int_equal(reduce_items(&of, 1), -EIO);
	assert_int_equal(of.tries, 4);
}
