/*
 * Graphs and stacks of a recorded example: export_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(exports_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
