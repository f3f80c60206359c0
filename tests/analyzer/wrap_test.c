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
