/*
 * What commands refuse: wrong, missing and contradicting arguments, of all commands that need no
 * device: usage_test.txt
 *
 * They are refused before anything is read or written, so that each takes a millisecond.
 */
#include "tests/cli/run.h"

static void write_text(const char *name, const char *text)
{
	char path[sizeof(run_folder) + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", run_folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int begin_refusals(void **state)
{
	if (run_begin(state))
		return -1;
	umask(022);
	write_text("text", "no trace\n");
	write_text("empty", "");
	write_text("good.faults", "verb=reg_mr n=3 errno=ENOMEM\n\n# nothing\nlose p=0.1 seed=7\n");
	write_text("wrong.faults", "verb=reg_mr n=0 errno=ENOMEM\ncolour=red\nlate=2ms\n"
				   "opcode=SEND lose errno=EIO\n");
	write_text("short.key", "0123456789\n");
	write_text("tolerate", "nonsense\n");
	write_text("load.model", "# a model of nothing\n");
	return 0;
}

GROUP(begin_refusals, run_end);

TEST(refusals_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}
