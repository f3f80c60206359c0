/*
 * Excerpts of a recorded example, and what they contain: trim_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(excerpts_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
