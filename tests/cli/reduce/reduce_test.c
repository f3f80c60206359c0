/*
 * The minimum of a recorded example that has a finding: reduce_test.txt
 *
 * The trials run `verbatim check`, which is this program then.
 */
#define TEST_MAIN
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

/* Leave out how long it took. */
static void mask_times(char *text)
{
	char *at = strstr(text, " trials in "), *end = at ? strchr(at, '\n') : NULL;

	if (end)
		memmove(at + strlen(" trials"), end, strlen(end) + 1);
}

TEST(excerpts_are_those_of_the_transcript)
{
	run_mask = mask_times;
	run_transcript(__FILE__);
}

int main(int argc, char **argv)
{
	const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;

	return command ? command->run(argc - 1, argv + 1) : test_run(argv);
}
