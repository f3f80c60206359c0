/* Numbers of a thread that no event has. */
#include "tests/test.h"

#include "cli/emit/skips.h"
#include "core/store/read/trace.h"

static struct skips skips;

static void learn_event(uint64_t n, int kind)
{
	skips_learn(&skips, &(struct trace_event){ .kind = kind, .id = { 1, n } });
}

TEST(a_number_between_two_posts_is_skipped)
{
	skips = (struct skips){ 0 };
	learn_event(3, TRACE_CALL);
	learn_event(6, TRACE_POST);
	learn_event(8, TRACE_POLL);
	learn_event(9, TRACE_POST);
	assert_int_equal(skips_count(&skips), 1);
	assert_int_equal(skips_subtract(&skips, 6), 6);
	assert_int_equal(skips_subtract(&skips, 8), 7);
	assert_int_equal(skips_add_back(&skips, 6), 6);
	assert_int_equal(skips_add_back(&skips, 7), 8);
	assert_int_equal(skips_add_back(&skips, 8), 9);
}

TEST(a_number_next_to_a_call_is_not_skipped)
{
	skips = (struct skips){ 0 };
	learn_event(1, TRACE_POST);
	learn_event(3, TRACE_CALL);
	learn_event(5, TRACE_POST);
	assert_int_equal(skips_count(&skips), 0);
}

TEST(too_many_are_ignored)
{
	skips = (struct skips){ 0 };
	for (uint64_t n = 1; n <= 2 * SKIPS_MOST + 3; n += 2)
		learn_event(n, TRACE_POST);
	assert_int_equal(skips_count(&skips), 0);
	assert_int_equal(skips_subtract(&skips, 9), 9);
	assert_int_equal(skips_add_back(&skips, 9), 9);
}
