/*
 * Phrases, the texts made of them, and a thread's last statements
 */
#include "cli/emit/statement.h"

#include "tests/test.h"

static struct phrase phrase;
static struct texts texts;
static struct script script;

static int begin_phrase(void **state)
{
	(void)state;
	phrase.ignored = false;
	return 0;
}

static int end_phrase(void **state)
{
	(void)state;
	phrase_fini(&phrase);
	texts_fini(&texts);
	script_fini(&script);
	return 0;
}

FIXTURE(begin_phrase, end_phrase);

TEST(phrases_are_formatted)
{
	phrase_addf(&phrase, "%s(%d, %u);", "call", -2147483647 - 1, 4294967295u);
	phrase_addf(&phrase, " %d%%", 0);
	phrase_addf(&phrase, "%s %#x %s", "a", 255, "b");
	assert_string_equal(phrase.text.at, "call(-2147483648, 4294967295); 0%a 0xff b");
}

TEST(numbers_are_slots)
{
	phrase_number(&phrase, 'd', -7);
	phrase_number(&phrase, 'o', 64);
	assert_string_equal(phrase.text.at, SLOT "d" SLOT "o");
	assert_int_equal(phrase.nvalues, 2);
	assert_int_equal(phrase.values[0], -7);
	assert_int_equal(phrase.values[1], 64);
	phrase_cut(&phrase);
	assert_int_equal(phrase.nvalues, 0);
	assert_int_equal(phrase.text.used, 0);
}

TEST(numbers_that_do_not_fit_are_text)
{
	for (int i = 0; i < 512; i++)
		phrase_number(&phrase, 'd', i);
	assert_int_equal(phrase.nvalues, 512);
	assert_int_equal(phrase.text.used, 1024);
	phrase_number(&phrase, 'x', 255);
	phrase_number(&phrase, 'o', 0);
	phrase_number(&phrase, 'o', 8);
	phrase_number(&phrase, 'd', 0);
	phrase_number(&phrase, 'd', -5);
	assert_int_equal(phrase.nvalues, 512);
	assert_string_equal(phrase.text.at + 1024, "0xff + 80-5");
}

TEST(an_ignored_phrase_stays_empty)
{
	phrase.ignored = true;
	phrase_addf(&phrase, "call();");
	phrase_number(&phrase, 'd', 7);
	assert_null(phrase.text.at);
	assert_int_equal(phrase.nvalues, 0);
}

TEST(equal_texts_have_one_number)
{
	assert_int_equal(texts_number(&texts, "a"), 1);
	assert_int_equal(texts_number(&texts, "bc"), 2);
	assert_int_equal(texts_number(&texts, "a"), 1);
	assert_int_equal(texts.n, 2);
	assert_int_equal(texts.bytes, 2 + 3);
	assert_string_equal(texts.at[1], "bc");
}

/* Adds the phrase as the statement of event @n. */
static const struct statement *add_statement(uint64_t n, bool event)
{
	assert_int_equal(script_add(&script, &texts, &phrase, n, event), 0);
	return &script.at[script.n - 1];
}

static void expect_filled(const char *text, const char *filled)
{
	const struct statement *s;

	phrase_addf(&phrase, "%s", text);
	s = add_statement(1, true);
	assert_string_equal(texts.at[s->text - 1], filled);
}

/* A line that continues a statement follows the one before if there is room for it. */
TEST(lines_are_filled)
{
	static const char long_line[] = "call(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
					"aaaaaaaaaaaaaaaaaaaaaaaa,\n\tbbbbbbbb";
	static const char full_line[] = "call(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
					"aaaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbb";
	char text[256];

	expect_filled("a();\nb();", "a();\nb();");
	expect_filled("a(1,\n\t2,\n\t3);\nb();", "a(1, 2, 3);\nb();");
	expect_filled("a = {\n\t.b = 1,\n\t.c = 2,\n};", "a = { .b = 1, .c = 2 };");
	assert_int_equal(strlen(full_line) + 1, 92);
	snprintf(text, sizeof(text), "%s;", long_line);
	expect_filled(text, "call(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			    "aaaaaaaaaaaa, bbbbbbbb;");
	snprintf(text, sizeof(text), "%s2;", long_line);
	expect_filled(text, text);
	snprintf(text, sizeof(text), "%s;\n\tc", long_line);
	expect_filled(text, "call(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			    "aaaaaaaaaaaa, bbbbbbbb;\n\tc");
}

/* The values of the same text, also before its lines are filled. */
TEST(statements_have_their_values)
{
	const struct statement *s;

	phrase_addf(&phrase, "a(");
	phrase_number(&phrase, 'd', 5);
	phrase_number(&phrase, 'd', 6);
	phrase_addf(&phrase, ");");
	add_statement(10, true);
	phrase_addf(&phrase, "wait();");
	add_statement(11, false);
	phrase_addf(&phrase, "a(");
	phrase_number(&phrase, 'd', 7);
	phrase_number(&phrase, 'd', 8);
	phrase_addf(&phrase, ");");
	s = add_statement(11, true);
	assert_int_equal(script.added, 3);
	assert_int_equal(s->text, script.at[0].text);
	assert_int_not_equal(s->text, script.at[1].text);
	assert_int_equal(s->n, 11);
	assert_true(s->event);
	assert_false(script.at[1].event);
	assert_int_equal(s->nvalues, 2);
	assert_int_equal(s->first, 2);
	assert_int_equal(script.values[2], 7);
	assert_int_equal(script.nvalues, 4);
	assert_int_equal(texts.nraw, 2);
	script_drop(&script, 1);
	assert_int_equal(script.n, 2);
	assert_int_equal(script.at[0].n, 11);
	assert_int_equal(script.at[1].first, 0);
	assert_int_equal(script.values[1], 8);
	assert_int_equal(script.nvalues, 2);
	script_drop(&script, 2);
	assert_int_equal(script.n, 0);
	assert_int_equal(script.nvalues, 0);
	assert_int_equal(script.added, 3);
}

TEST(an_empty_phrase_is_no_statement)
{
	assert_true(script_add(&script, &texts, &phrase, 1, true) < 0);
	assert_int_equal(script.n, 0);
}
