/*
 * What `verbatim export` makes of recordings of tests/conformance, of each transport and of each
 * kind of request: exported_test.txt
 */
#include "tests/cli/digests.h"

GROUP(digests_begin, run_end);

TEST(exports_are_those_of_the_transcript)
{
	digests_compare(__FILE__);
}
