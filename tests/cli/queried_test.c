/*
 * Answers of `verbatim query` and rows of `verbatim sql` about recordings of tests/conformance:
 * queried_test.txt
 */
#include "tests/cli/digests.h"

GROUP(digests_begin, run_end);

TEST(answers_are_those_of_the_transcript)
{
	digests_compare(__FILE__);
}
