#include <errno.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/screen.h"
#include "cli/options.h"
#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/test.h"

struct settings {
	const char *output;
	uint64_t ring_size;
	int64_t wait, from;
	uint32_t thread, trials;
	const char *theme, *end, *file;
	unsigned int format;
	bool failed;
	unsigned int muted; /* calls of add_muted() */
};

static int add_muted(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	if (!strcmp(text, "bad")) {
		snprintf(complaint, OPTIONS_COMPLAINT, "no rule is bad");
		return -EINVAL;
	}
	++*(unsigned int *)field;
	return 0;
}

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", "", TEXT_AT(struct settings, output), .preset = "t.db" },
	{ "ring-size", 0, "SIZE", "", SIZE_AT(struct settings, ring_size), .least = 256 << 10,
	  .most = 1 << 30, .preset = "4M" },
	{ "wait", 0, "TIME", "", TIME_AT(struct settings, wait), .least = 1 },
	{ "from", 0, "SECONDS", "", TIME_AT(struct settings, from) },
	{ "thread", 't', "T", "", NUMBER_AT(struct settings, thread), .least = 1 },
	{ "format", 0, "text|json", "", CHOICE_AT(struct settings, format) },
	{ "json", 0, NULL, "", VALUE_AT(struct settings, format, 1) },
	{ "xml", 0, NULL, "", VALUE_AT(struct settings, format, 2) },
	{ "failed", 'f', NULL, "", FLAG_AT(struct settings, failed) },
	{ "mute", 'm', "ID", "", PARSED_AT(struct settings, muted, add_muted) },
	{ "trials", 0, "N", "", NUMBER_AT(struct settings, trials), .former = 'n' },
	{ "theme", 0, "NAME", "", TEXT_AT(struct settings, theme), .former = 't' },
	{ "end", 0, "NAME", "", TEXT_AT(struct settings, end), .alias = "until" },
	{ "file", 0, "FILE", "", TEXT_AT(struct settings, file), .otherwise = OPTIONS_STDOUT },
	{ 0 },
};

static struct settings set;
static const struct option_default *defaults;
static struct arguments got;
static char complaint[OPTIONS_COMPLAINT];

static int read_words(bool program, const char *words)
{
	static char text[256];
	static char *argv[32];
	int argc = 0;

	strcpy(text, words);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	set = (struct settings){ 0 };
	common = (struct common){ 0 };
	return options_read(argc, argv,
			    (const struct option_set[OPTIONS_SETS]){ { rows, &set },
								     { common_options, &common } },
			    defaults, program, &got, complaint);
}

static int forget_environment(void **state __attribute__((unused)))
{
	char variable[OPTIONS_VARIABLE];

	defaults = NULL;
	for (const struct option_row *row = rows; row->name; row++)
		unsetenv(options_variable(row->name, variable));
	return 0;
}

FIXTURE(forget_environment, forget_environment);

TEST(value_in_the_next_word_or_the_same)
{
	static const char *const ways[] = { "x -o a",       "x -oa",   "x --output a",
					    "x --output=a", "x -fo a", "x b -o a" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		assert_int_equal(read_words(false, ways[i]), 0);
		assert_string_equal(set.output, "a");
	}
}

TEST(what_is_left_keeps_its_order)
{
	assert_int_equal(read_words(false, "x one -f two -- --three"), 0);
	assert_int_equal(got.n, 3);
	assert_string_equal(got.at[0], "one");
	assert_string_equal(got.at[1], "two");
	assert_string_equal(got.at[2], "--three");
	assert_null(got.at[3]);
}

TEST(options_of_the_program_are_its_own)
{
	assert_int_equal(read_words(true, "record -o a app -f --output b -- c"), 0);
	assert_string_equal(set.output, "a");
	assert_false(set.failed);
	assert_int_equal(got.n, 6);
	assert_string_equal(got.at[0], "app");
	assert_string_equal(got.at[4], "--");
}

TEST(two_hyphens_begin_the_program)
{
	assert_int_equal(read_words(true, "record -- -o a"), 0);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.at[0], "-o");
}

TEST(unknown_option_is_named_and_the_nearest)
{
	assert_int_equal(read_words(false, "x --outptu=3"), -EINVAL);
	assert_non_null(strstr(complaint, "'--outptu=3' (did you mean '--output'?)"));
	assert_int_equal(read_words(false, "x --something-else"), -EINVAL);
	assert_null(strstr(complaint, "did you mean"));
	assert_int_equal(read_words(false, "x -z"), -EINVAL);
	assert_non_null(strstr(complaint, "-z"));
}

TEST(former_letter_is_refused_and_names_its_option)
{
	assert_int_equal(read_words(false, "x -n 3"), -EINVAL);
	assert_string_equal(complaint, "-n is no longer short for --trials: write --trials");
	assert_int_equal(read_words(false, "x -t 3"), 0);
	assert_int_equal(read_words(false, "x -t dark"), -EINVAL);
	assert_non_null(strstr(complaint, "not 'dark'; -t is no longer short for --theme"));
}

TEST(former_name_is_still_an_option_and_a_variable)
{
	assert_int_equal(read_words(false, "x --until a"), 0);
	assert_string_equal(set.end, "a");
	setenv("VERBATIM_UNTIL", "b", 1);
	assert_int_equal(read_words(false, "x"), 0);
	assert_string_equal(set.end, "b");
	setenv("VERBATIM_END", "c", 1);
	assert_int_equal(read_words(false, "x"), 0);
	unsetenv("VERBATIM_END");
	unsetenv("VERBATIM_UNTIL");
	assert_string_equal(set.end, "c");
}

TEST(options_of_every_command_are_read_beside_its_own)
{
	assert_int_equal(read_words(false, "x --color never -o a --no-pager"), 0);
	assert_string_equal(set.output, "a");
	assert_int_equal(common.colour, SCREEN_NEVER);
	assert_true(common.no_pager);
	assert_int_equal(read_words(false, "x --colour=never"), -EINVAL);
	assert_non_null(strstr(complaint, "did you mean '--color'"));
}

/* An option's name and letter have the same meaning in all commands. */
TEST(no_command_has_an_option_of_every_command)
{
	for (const struct command *c = commands; c->name; c++)
		for (const struct option_row *row = c->options; row->name; row++)
			for (const struct option_row *each = common_options; each->name; each++) {
				assert_string_not_equal(row->name, each->name);
				assert_true(!row->letter || row->letter != each->letter);
			}
}

TEST(missing_value_is_refused)
{
	assert_int_equal(read_words(false, "x --output"), -EINVAL);
	assert_int_equal(read_words(false, "x -o"), -EINVAL);
}

TEST(flag_takes_no_value_but_yes_and_no)
{
	assert_int_equal(read_words(false, "x --failed=1"), -EINVAL);
	assert_int_equal(read_words(false, "x --failed="), -EINVAL);
	assert_int_equal(read_words(false, "x --failed=yes"), 0);
	assert_true(set.failed);
	setenv("VERBATIM_FAILED", "1", 1);
	assert_int_equal(read_words(false, "x --failed=no"), 0);
	assert_false(set.failed);
}

TEST(defaults_come_before_the_presets_only)
{
	static const struct option_default lines[] = {
		{ "output", "other", "f", 1 }, { "failed", "yes", "f", 2 },
		{ "mute", "a", "f", 3 },       { "mute", "b", "f", 4 },
		{ "output", "file", "f", 5 },  { 0 },
	};

	defaults = lines;
	assert_int_equal(read_words(false, "x"), 0);
	assert_string_equal(set.output, "file");
	assert_true(set.failed);
	assert_int_equal(set.muted, 2);
	setenv("VERBATIM_OUTPUT", "variable", 1);
	setenv("VERBATIM_FAILED", "0", 1);
	assert_int_equal(read_words(false, "x -m c"), 0);
	assert_string_equal(set.output, "variable");
	assert_false(set.failed);
	assert_int_equal(set.muted, 1);
	assert_int_equal(read_words(false, "x -o line"), 0);
	assert_string_equal(set.output, "line");
}

TEST(wrong_default_is_refused_with_its_place)
{
	static const struct option_default thread[] = { { "thread", "0", "a/b", 7 }, { 0 } };
	static const struct option_default flag[] = { { "failed", "1", "a/b", 8 }, { 0 } };

	defaults = thread;
	assert_int_equal(read_words(false, "x"), -EINVAL);
	assert_non_null(strstr(complaint, "--thread is a number"));
	assert_non_null(strstr(complaint, "(a/b:7)"));
	assert_int_equal(read_words(false, "x -t 1"), 0);
	defaults = flag;
	assert_int_equal(read_words(false, "x"), -EINVAL);
	assert_non_null(strstr(complaint, "failed must be yes or no, not '1' (a/b:8)"));
}

TEST(values_are_stored_by_their_type)
{
	assert_int_equal(read_words(false, "x --ring-size 1M --wait 490ms --from 0.000000001 -t 7 "
					   "--format json -f"),
			 0);
	assert_int_equal(set.ring_size, 1 << 20);
	assert_int_equal(set.wait, 490000000);
	assert_int_equal(set.from, 1);
	assert_int_equal(set.thread, 7);
	assert_int_equal(set.format, 1);
	assert_true(set.failed);
}

TEST(hyphen_is_standard_output_if_that_is_the_default)
{
	assert_int_equal(read_words(false, "x --file f -o -"), 0);
	assert_string_equal(set.file, "f");
	assert_string_equal(set.output, "-");
	assert_int_equal(read_words(false, "x --file f --file -"), 0);
	assert_null(set.file);
}

TEST(preset_holds_where_nothing_is_given)
{
	assert_int_equal(read_words(false, "x"), 0);
	assert_string_equal(set.output, "t.db");
	assert_int_equal(set.ring_size, 4 << 20);
	assert_int_equal(set.wait, 0);
}

TEST(wrong_value_gets_the_list_of_valid_ones)
{
	static const struct {
		const char *words, *says;
	} cases[] = {
		{ "x --ring-size big", "--ring-size is a size such as 4M, 256k to 1G, not 'big'" },
		{ "x --ring-size 1k", "256k to 1G" },
		{ "x --ring-size 2G", "256k to 1G" },
		{ "x --wait 5", "--wait is a time such as" },
		{ "x --wait 0s", "--wait is a time such as" },
		{ "x --from noon", "--from is a time in seconds" },
		{ "x --thread 0", "--thread is a number" },
		{ "x --thread 4294967296", "--thread is a number" },
		{ "x --format xml", "--format is text or json, not 'xml'" },
		{ "x --mute bad", "no rule is bad" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(read_words(false, cases[i].words), -EINVAL);
		assert_non_null(strstr(complaint, cases[i].says));
	}
}

TEST(option_given_again_is_stored_again)
{
	assert_int_equal(read_words(false, "x -m a --mute=b -o 1 -o 2"), 0);
	assert_int_equal(set.muted, 2);
	assert_string_equal(set.output, "2");
}

TEST(short_form_overrides_the_long_one)
{
	static const struct {
		const char *words;
		unsigned int format;
	} cases[] = { { "x", 0 },
		      { "x --json", 1 },
		      { "x --json --format text", 1 },
		      { "x --format text --json", 1 },
		      { "x --json --json", 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(read_words(false, cases[i].words), 0);
		assert_int_equal(set.format, cases[i].format);
	}
	assert_int_equal(read_words(false, "x --xml --json"), -EINVAL);
	assert_non_null(strstr(complaint, "--json or --xml, not both"));
	setenv("VERBATIM_JSON", "1", 1);
	assert_int_equal(read_words(false, "x"), 0);
	assert_int_equal(set.format, 1);
	assert_int_equal(read_words(false, "x --format text"), 0);
	assert_int_equal(set.format, 0);
}

TEST(environment_gives_what_the_line_does_not)
{
	setenv("VERBATIM_RING_SIZE", "1M", 1);
	setenv("VERBATIM_OUTPUT", "e", 1);
	setenv("VERBATIM_FAILED", "1", 1);
	assert_int_equal(read_words(false, "x -o a"), 0);
	assert_int_equal(set.ring_size, 1 << 20);
	assert_string_equal(set.output, "a");
	assert_true(set.failed);
}

TEST(wrong_variable_is_named)
{
	setenv("VERBATIM_WAIT", "soon", 1);
	assert_int_equal(read_words(false, "x"), -EINVAL);
	assert_non_null(strstr(complaint, "(VERBATIM_WAIT)"));
}

TEST(flag_is_off_where_its_variable_is_0)
{
	setenv("VERBATIM_FAILED", "0", 1);
	assert_int_equal(read_words(false, "x"), 0);
	assert_false(set.failed);
}

TEST(help_is_found_before_a_program_only)
{
	assert_int_equal(read_words(true, "record --help"), 1);
	assert_int_equal(read_words(true, "record app --help"), 0);
}

/* The defaults of all rows are values that the rows accept. */
TEST(presets_of_all_commands_are_right)
{
	char settings[4096] __attribute__((aligned(16)));

	for (const struct command *c = commands; c->name; c++) {
		int n = 0;

		for (const struct option_row *row = c->options; row->name; row++, n++) {
			assert_int_equal(!row->arg,
					 row->type == OPTION_FLAG || row->type == OPTION_VALUE);
			if (row->preset)
				assert_int_equal(
					options_store(row, row->preset, settings, complaint), 0);
		}
		assert_true(n < OPTIONS_MAX);
	}
}

static void preset_of_record_is_that_of(const char *name, uint64_t value)
{
	char settings[4096] __attribute__((aligned(16)));
	const struct option_row *row = command_find("record")->options;

	while (strcmp(row->name, name))
		row++;
	assert_int_equal(options_store(row, row->preset, settings, complaint), 0);
	assert_memory_equal(settings + row->at, &value, sizeof(value));
}

TEST(presets_of_record_are_those_of_the_guest)
{
	preset_of_record_is_that_of("ring-size", RING_BYTES);
	preset_of_record_is_that_of("max-wait", SESSION_MAX_WAIT * 1000000000ull);
}
