/*
 * Progress lines while a command works
 */
#include "cli/working.h"

#include <stdio.h>
#include <unistd.h>

#include "tests/test.h"

/* The messages come back through a pipe: the test waits for them, and not for a time. */
TEST(work_is_reported_again_and_again)
{
	int ends[2], old = dup(STDERR_FILENO);
	char line[256];
	FILE *told;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
	working_start("weave", 1000);
	told = fdopen(ends[0], "r");
	assert_non_null(told);
	for (int i = 0; i < 3; i++) {
		assert_non_null(fgets(line, sizeof(line), told));
		assert_non_null(strstr(line, "weave: running for "));
	}
	dup2(old, STDERR_FILENO);
	close(old);
}
