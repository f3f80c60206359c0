/*
 * Runs of an example compared: diff_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(differences_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
