/*
 * Answers about a recorded example, as text and as JSON: query_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(answers_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
