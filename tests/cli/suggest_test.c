#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static const char *nearest_file(const char *path)
{
	static struct suggestion s;

	s = (struct suggestion){ .word = NULL };
	suggest_file(&s, path);
	return suggest_text(&s);
}

TEST(files_in_the_folder_of_the_missing_one)
{
	char folder[] = "/tmp/suggest_test.XXXXXX", path[64], expected[96];

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trace.db", folder);
	fclose(fopen(path, "w"));
	snprintf(expected, sizeof(expected), " (did you mean '%s'?)", path);
	snprintf(path, sizeof(path), "%s/tarce.db", folder);
	assert_string_equal(nearest_file(path), expected);
	snprintf(path, sizeof(path), "%s/trace", folder);
	assert_string_equal(nearest_file(path), expected);
	snprintf(path, sizeof(path), "%s/other.db", folder);
	assert_string_equal(nearest_file(path), "");
	assert_string_equal(nearest_file("/no/such/folder/trace.db"), "");
	snprintf(path, sizeof(path), "%s/trace.db", folder);
	unlink(path);
	rmdir(folder);
}

/* Two thirds of a long name may differ, and it does not fit into the suggestion. */
TEST(a_long_name_is_no_suggestion)
{
	struct {
		struct suggestion s;
		char after[256];
	} got = { .s = { .word = "aaaaaaaa" } };
	char name[201];

	memset(got.after, 7, sizeof(got.after));
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	suggest_name(&got.s, name);
	assert_string_equal(suggest_text(&got.s), "");
	for (size_t i = 0; i < sizeof(got.after); i++)
		assert_int_equal(got.after[i], 7);
}

TEST(other_words_are_not_guessed_at)
{
	assert_string_equal(nearest_command("zzz"), "");
	assert_string_equal(nearest_command(""), "");
	assert_string_equal(nearest_command("a-word-that-is-longer-than-any-name-we-have-here"),
			    "");
}
