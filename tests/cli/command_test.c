#include <string.h>

#include "cli/command.h"
#include "tests/test.h"

/* An option with a letter, and a subcommand that has it. */
struct short_option {
	const char *command, *name;
};

/* Fails, naming both, if @row differs from the option that has had its letter so far. */
static void compare_letter(struct short_option *seen, const char *command,
			   const struct option_row *row)
{
	struct short_option *first = &seen[(unsigned char)row->letter];

	if (!row->letter)
		return;
	if (!first->name)
		*first = (struct short_option){ command, row->name };
	if (strcmp(first->name, row->name))
		fail_msg("-%c is --%s of %s, and --%s of %s", row->letter, first->name,
			 first->command, row->name, command);
}

TEST(a_letter_is_one_option_in_all_commands)
{
	struct short_option seen[256] = { 0 };

	for (const struct command *c = commands; c->name; c++)
		for (const struct option_row *row = c->options; row->name; row++)
			compare_letter(seen, c->name, row);
	assert_string_equal(seen['o'].name, "output");
}

static char letter_of(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		for (const struct option_row *row = c->options; row->name; row++)
			if (row->letter && !strcmp(row->name, name))
				return row->letter;
	return 0;
}

TEST(an_option_has_its_letter_in_all_commands)
{
	for (const struct command *c = commands; c->name; c++)
		for (const struct option_row *row = c->options; row->name; row++)
			if (row->letter != letter_of(row->name))
				fail_msg("--%s of %s has no -%c", row->name, c->name,
					 letter_of(row->name));
}

TEST(h_is_help)
{
	for (const struct command *c = commands; c->name; c++)
		for (const struct option_row *row = c->options; row->name; row++)
			assert_int_not_equal(row->letter, 'h');
}
