#include <stdlib.h>

#include "cli/replay/suite_end.h"
#include "tests/test.h"

/* The actions that are due at a past moment. */
static int wait_until_due(struct suite_end *end)
{
	end->hard = 1;
	return suite_end_wait(end);
}

/* A process that waits in the kernel is not ended by SIGKILL; the suite ends without it. */
TEST(what_a_kill_does_not_end_is_given_up)
{
	struct suite_end end;

	suite_end_begin(&end, 1);
	assert_int_equal(suite_end_wait(&end), SIGTERM);
	assert_string_equal(end.why, "--deadline");
	assert_int_equal(wait_until_due(&end), SIGKILL);
	assert_false(end.given_up);
	wait_until_due(&end);
	assert_true(end.given_up);
	suite_end_finish(&end);
}
