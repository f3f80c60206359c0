#include "cli/command.h"
#include "cli/suggest.h"
#include "tests/test.h"

static const char *nearest_command(const char *word)
{
	static struct suggestion s;

	s = (struct suggestion){ .word = word };
	for (const struct command *c = commands; c->name; c++)
		suggest_name(&s, c->name);
	return suggest_text(&s);
}

TEST(one_slip_is_understood)
{
	assert_string_equal(nearest_command("recrod"), " (did you mean 'record'?)");
	assert_string_equal(nearest_command("replya"), " (did you mean 'replay'?)");
	assert_string_equal(nearest_command("inf"), " (did you mean 'info'?)");
	assert_string_equal(nearest_command("dumpp"), " (did you mean 'dump'?)");
}

TEST(other_words_are_not_guessed_at)
{
	assert_string_equal(nearest_command("zzz"), "");
	assert_string_equal(nearest_command(""), "");
	assert_string_equal(nearest_command("a-word-that-is-longer-than-any-name-we-have-here"),
			    "");
}
