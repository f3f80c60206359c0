/*
 * The minimum of a recorded example that has a finding: reduce_test.txt
 *
 * The trials run `verbatim check`, which is this program then.
 */
#define TEST_MAIN
#include "tests/cli/run.h"

GROUP(run_begin, run_end);

/* Leave out the notes of a slow reduction, and how long it took. */
static void mask_times(char *text)
{
	char *at;

	while ((at = strstr(text, " are left\n"))) {
		char *next = at + strlen(" are left\n");

		while (at > text && at[-1] != '\n')
			at--;
		memmove(at, next, strlen(next) + 1);
	}
	at = strstr(text, " trials in ");
	if (at)
		memmove(at + strlen(" trials"), strchr(at, '\n'), strlen(strchr(at, '\n')) + 1);
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
