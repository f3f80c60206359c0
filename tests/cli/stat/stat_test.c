/*
 * Counts and latencies of a recorded example: stat_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(numbers_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
