/*
 * What commands print about recordings of tests/conformance: stored_test.txt
 *
 * An output is shown by its lines and its digest, since all of them are long. If one differs, run
 * that command of two builds, and compare; tests/e2e/stored.sh prints the difference, too, and asks
 * more of more recordings. Here a whole analysis takes milliseconds.
 */
#include "tests/cli/digests.h"

GROUP(digests_begin, run_end);

TEST(outputs_are_those_of_the_transcript)
{
	digests_compare(__FILE__);
}
