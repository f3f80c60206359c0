#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "tests/test.h"

enum { OUTPUT, RING_SIZE, FAILED };

static const struct option_row rows[] = {
	[OUTPUT] = { "output", 'o', "FILE", "" },
	[RING_SIZE] = { "ring-size", 0, "BYTES", "" },
	[FAILED] = { "failed", 'f', NULL, "" },
	{ 0 },
};

static struct options got;
static char complaint[256];

static int read_words(bool program, const char *words)
{
	static char text[256];
	static char *argv[32];
	int argc = 0;

	strcpy(text, words);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	return options_read(argc, argv, rows, program, &got, complaint);
}

static int forget_environment(void **state)
{
	(void)state;
	unsetenv("VERBATIM_OUTPUT");
	unsetenv("VERBATIM_RING_SIZE");
	unsetenv("VERBATIM_FAILED");
	return 0;
}

GROUP(NULL, forget_environment);
FIXTURE(forget_environment, NULL);

TEST(value_in_the_next_word_or_the_same)
{
	static const char *const ways[] = { "x -o a", "x -oa", "x --output a", "x --output=a",
					    "x -fo a", "x b -o a" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		assert_int_equal(read_words(false, ways[i]), 0);
		assert_string_equal(got.value[OUTPUT], "a");
	}
}

TEST(what_is_left_keeps_its_order)
{
	assert_int_equal(read_words(false, "x one -f two -- --three"), 0);
	assert_int_equal(got.nargs, 3);
	assert_string_equal(got.args[0], "one");
	assert_string_equal(got.args[1], "two");
	assert_string_equal(got.args[2], "--three");
	assert_null(got.args[3]);
}

TEST(options_of_the_program_are_its_own)
{
	assert_int_equal(read_words(true, "record -o a app -f --output b -- c"), 0);
	assert_string_equal(got.value[OUTPUT], "a");
	assert_null(got.value[FAILED]);
	assert_int_equal(got.nargs, 6);
	assert_string_equal(got.args[0], "app");
	assert_string_equal(got.args[4], "--");
}

TEST(two_hyphens_begin_the_program)
{
	assert_int_equal(read_words(true, "record -- -o a"), 0);
	assert_int_equal(got.nargs, 2);
	assert_string_equal(got.args[0], "-o");
}

TEST(unknown_option_is_named)
{
	assert_int_equal(read_words(false, "x --outpu a"), -EINVAL);
	assert_non_null(strstr(complaint, "--outpu"));
	assert_int_equal(read_words(false, "x -z"), -EINVAL);
	assert_non_null(strstr(complaint, "-z"));
}

TEST(missing_value_is_refused)
{
	assert_int_equal(read_words(false, "x --output"), -EINVAL);
	assert_int_equal(read_words(false, "x -o"), -EINVAL);
}

TEST(switch_takes_no_value)
{
	assert_int_equal(read_words(false, "x --failed=1"), -EINVAL);
}

TEST(environment_gives_what_the_line_does_not)
{
	setenv("VERBATIM_RING_SIZE", "1M", 1);
	setenv("VERBATIM_OUTPUT", "e", 1);
	setenv("VERBATIM_FAILED", "1", 1);
	assert_int_equal(read_words(false, "x -o a"), 0);
	assert_string_equal(got.value[RING_SIZE], "1M");
	assert_string_equal(got.value[OUTPUT], "a");
	assert_non_null(got.value[FAILED]);
}

TEST(switch_is_off_where_its_variable_is_0)
{
	setenv("VERBATIM_FAILED", "0", 1);
	assert_int_equal(read_words(false, "x"), 0);
	assert_null(got.value[FAILED]);
}

TEST(help_is_found_before_a_program_only)
{
	assert_int_equal(read_words(true, "record --help"), 1);
	assert_int_equal(read_words(true, "record app --help"), 0);
}
