/*
 * Findings of a recorded example: check_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(findings_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
