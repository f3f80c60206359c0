/*
 * Answers about a recorded example, as text and as JSON: query_test.txt
 */
#include "tests/cli/query/keys.h"

static int begin_query(void **state)
{
	int err = run_begin(state);

	if (!err)
		keys_record();
	return err;
}

GROUP(begin_query, run_end);

TEST(answers_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
