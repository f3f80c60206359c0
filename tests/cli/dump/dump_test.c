/*
 * The lines of a recorded example, and which of them options select: dump_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(lines_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
