/*
 * Files that are made of others, and all rows of their tables: files_test.txt
 *
 * Excerpts, merged traces and plain tables of recordings in tests/conformance, which are read
 * again; and queries of tables that are computed.
 */
#include "tests/cli/digests.h"

GROUP(digests_begin, run_end);

TEST(files_are_as_they_were)
{
	digests_compare(__FILE__);
}
