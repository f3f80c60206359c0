/*
 * Programs that `verbatim emit` makes of recordings of tests/conformance: emitted_test.txt
 *
 * Together they have each kind of call and request, posts by ibv_wr_*() and polls by
 * ibv_start_poll().
 */
#include "tests/cli/digests.h"

GROUP(digests_begin, run_end);

TEST(programs_are_those_of_the_transcript)
{
	digests_compare(__FILE__);
}
