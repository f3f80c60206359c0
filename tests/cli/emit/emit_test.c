/*
 * The program of a recorded example: emit_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(program_is_that_of_the_transcript)
{
	run_transcript(__FILE__);
}
