/*
 * Help of some commands: help_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(help_is_that_of_the_transcript)
{
	run_transcript(__FILE__);
}
