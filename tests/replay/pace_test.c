/*
 * Waiting in a replay by one thread
 */
#include "replay/report/pace.h"

#include "tests/test.h"

enum { TURNS = 500 }; /* more than those without a sleep */

TEST(a_wait_in_vain_is_not_the_longest)
{
	unsigned int turns = 0;
	int64_t longest;

	for (int i = 0; i < TURNS; i++)
		assert_true(pace_wait(&turns, INT64_MAX));
	longest = pace_longest_wait();
	assert_true(longest > 0);
	turns = 0;
	while (pace_wait(&turns, pace_now() + (turns < TURNS ? longest + 1000000000 : -1)))
		;
	assert_int_equal(pace_longest_wait(), longest);
}
