/*
 * Lines that are truncated to the width of a terminal
 */
#include <string.h>

#include "cli/screen.h"
#include "cli/dump/line.h"
#include "tests/test.h"

struct cut {
	const char *name, *text;
	int columns;
	const char *shown; /* with "|" in place of the omitted middle */
};

/* clang-format off */
static const struct cut cuts[] = {
	{ "what_fits_is_whole", "0123456789", 10, "0123456789" },
	{ "the_end_is_left_out", "0123456789x", 10, "0123456|" },
	{ "a_result_stays", "verb(a, b, c, d, e, f) = 0 <1 us>", 26, "verb(a, b, |) = 0 <1 us>" },
	{ "the_last_result_counts", "f(') = 1') = 22", 14, "f(') |) = 22" },
	{ "a_long_result_is_cut", "poll(cq1) = 1 [{0123456789}]", 20, "poll(cq1) = 1 [{0|" },
	{ "a_character_is_a_column", "\u00e9\u00e9\u00e9\u00e9\u00e9", 4, "\u00e9|" },
	{ "a_wide_one_is_two", "\u4e00\u4e00\u4e00", 5, "\u4e00|" },
	{ "bytes_that_are_none_count", "\xff\xff\xff\xff\xff", 4, "\xff|" },
	{ "a_style_is_no_column", "\033[31m01234\033[0m", 5, "\033[31m01234\033[0m" },
	{ "nothing_fits", "0123", 1, "|" },
};
/* clang-format on */

static void is_cut_as_shown(void **state)
{
	const struct cut *row = *state;
	size_t n = strlen(row->text), head, tail;
	char shown[128];
	bool cut;

	screen_use_colour(SCREEN_ALWAYS);
	cut = line_cut(row->text, n, row->columns, &head, &tail);
	screen_use_colour(SCREEN_NEVER);
	snprintf(shown, sizeof(shown), "%.*s%s%s", (int)head, row->text, cut ? "|" : "",
		 row->text + n - tail);
	assert_string_equal(shown, row->shown);
}

TEST_ROWS(cuts, is_cut_as_shown);
