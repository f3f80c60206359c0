/* analyzer/report/wrap.c: lines that fit a terminal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/wrap.h"
#include "tests/test.h"

/* @text in lines of @columns from column 0 on, all but the first indented by 4. */
static char *wrap_in(int columns, const char *text)
{
	char *shown = NULL;
	size_t size;
	FILE *out = open_memstream(&shown, &size);

	wrap_to_columns(columns);
	wrap_text(out, 0, 4, text);
	fclose(out);
	return shown;
}

static const struct wrapped {
	const char *name;
	int columns;
	const char *text, *wanted;
} wrapped[] = {
	{ "a line that fits", 40, "a b", "a b\n" },
	{ "blanks within a line stay", 40, "a   b", "a   b\n" },
	{ "blanks at its end go", 40, "0123456789012345678901234567890123456   place",
	  "0123456789012345678901234567890123456\n    place\n" },
	{ "a line is used up to its last column", 40, "0123456789012345678901234567890123456 ab c",
	  "0123456789012345678901234567890123456 ab\n    c\n" },
	{ "what has no blank is not broken", 40,
	  "0123456789012345678901234567890123456789012345678901234567890 c",
	  "0123456789012345678901234567890123456789012345678901234567890\n    c\n" },
	{ "no terminal is that narrow", 10, "0123456789 0123456789 0123456789",
	  "0123456789 0123456789 0123456789\n" },
};

static void wraps_row(void **state)
{
	const struct wrapped *row = *state;
	char *shown = wrap_in(row->columns, row->text);

	assert_string_equal(shown, row->wanted);
	free(shown);
}

TEST_ROWS(wrapped, wraps_row);

TEST(a_wide_terminal_is_used_up_to_120_columns)
{
	wrap_to_columns(200);
	assert_int_equal(wrap_columns(), 120);
}

/* In lines of 40 columns, with styles. */
static void assert_styled(const char *text, const struct wrap_spans *spans, const char *wanted)
{
	char *shown = NULL;
	size_t size;
	FILE *out = open_memstream(&shown, &size);

	wrap_to_columns(40);
	style_enable(true);
	wrap_styled(out, 0, 4, text, spans);
	style_enable(false);
	fclose(out);
	assert_string_equal(shown, wanted);
	free(shown);
}

TEST(styles_take_no_columns_and_end_with_the_line)
{
	struct wrap_spans spans = { 0 };

	wrap_mark(&spans, 0, 90, STYLE_ERROR);
	assert_styled("one two three four five six seven eight nine ten", &spans,
		      "\033[31mone two three four five six seven eight\033[0m\n"
		      "    \033[31mnine ten\033[0m\n");
}

TEST(words_outside_of_a_span_have_none)
{
	struct wrap_spans spans = { 0 };

	wrap_mark(&spans, 4, 7, STYLE_DIM);
	assert_styled("one two qp3 \033[31m", &spans,
		      "one \033[2mtwo\033[0m \033[36mqp3\033[0m \\x1b[31m\n");
}
