/*
 * The summary of a recorded example: info_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(summary_is_that_of_the_transcript)
{
	run_transcript(__FILE__);
}
