/*
 * Explanations of rules, statuses, events and errnos: explain_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(explanations_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
