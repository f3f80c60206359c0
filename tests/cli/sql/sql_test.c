/*
 * Queries of a recorded example, and the list of tables: sql_test.txt
 */
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

TEST(results_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
