/*
 * Differences between recordings of tests/conformance: compared_test.txt
 */
#include "tests/cli/digests.h"

GROUP(digests_begin, run_end);

TEST(differences_are_those_of_the_transcript)
{
	digests_compare(__FILE__);
}
