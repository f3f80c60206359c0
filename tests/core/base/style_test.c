#include "core/base/style.h"

#include <stdlib.h>

#include "tests/test.h"

static const struct row {
	enum style style;
	const char *sequence;
} rows[STYLES] = {
	{ STYLE_PLAIN, "\033[0m" },  { STYLE_HEAD, "\033[1m" },     { STYLE_DIM, "\033[2m" },
	{ STYLE_ERROR, "\033[31m" }, { STYLE_WARNING, "\033[33m" }, { STYLE_HAZARD, "\033[35m" },
	{ STYLE_GOOD, "\033[32m" },  { STYLE_NAME, "\033[36m" },
};

static int disable_styles(void **state)
{
	(void)state;
	style_enable(false);
	return 0;
}

FIXTURE(disable_styles, disable_styles);

static void expect_text(const char *wanted)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	style_text(out, STYLE_ERROR, "text");
	style_put(out, STYLE_DIM);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
}

TEST(nothing_is_written_at_first)
{
	assert_false(style_is_enabled());
	for (size_t i = 0; i < STYLES; i++)
		assert_string_equal(style_sequence(rows[i].style), "");
	expect_text("text");
}

TEST(each_role_has_its_sequence)
{
	style_enable(true);
	assert_true(style_is_enabled());
	for (size_t i = 0; i < STYLES; i++) {
		assert_string_equal(style_sequence(rows[i].style), rows[i].sequence);
		assert_in_range(strlen(rows[i].sequence), 1, STYLE_LENGTH);
	}
	expect_text("\033[31mtext\033[0m\033[2m");
}

TEST(severities_have_styles)
{
	assert_int_equal(style_of_severity('E'), STYLE_ERROR);
	assert_int_equal(style_of_severity('W'), STYLE_WARNING);
	assert_int_equal(style_of_severity('H'), STYLE_HAZARD);
	assert_int_equal(style_of_severity('P'), STYLE_HEAD);
	assert_int_equal(style_of_severity('I'), STYLE_HEAD);
}

TEST(a_sequence_has_its_length_while_styles_are_enabled)
{
	assert_int_equal(style_length("\033[31mtext", 9), 0);
	style_enable(true);
	for (size_t i = 0; i < STYLES; i++) {
		size_t n = strlen(rows[i].sequence);

		assert_int_equal(style_length(rows[i].sequence, n), n);
		assert_int_equal(style_length(rows[i].sequence, n - 1), 0);
	}
	assert_int_equal(style_length("\033[31mtext", 9), 5);
	assert_int_equal(style_length("x\033[31m", 6), 0);
	assert_int_equal(style_length("\033[34m", 5), 0);
	assert_int_equal(style_length("\033[31m", 0), 0);
}

TEST(an_incomplete_sequence_waits)
{
	style_enable(true);
	assert_int_equal(style_complete_length("text", 4), 4);
	assert_int_equal(style_complete_length("text\033", 5), 4);
	assert_int_equal(style_complete_length("text\033[3", 7), 4);
	assert_int_equal(style_complete_length("text\033[31", 8), 4);
	assert_int_equal(style_complete_length("text\033[31m", 9), 9);
	assert_int_equal(style_complete_length("\033[31mtext\033[", 11), 9);
	assert_int_equal(style_complete_length("text\033[9", 7), 7);
	assert_int_equal(style_complete_length("", 0), 0);
}
