/*
 * Lines that are truncated to the width of a terminal
 */
#include <string.h>
#include <unistd.h>

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

/* What has gone to the standard output since then is read from @from. */
static int begin_output(int from[2])
{
	int before = dup(STDOUT_FILENO);

	fflush(stdout);
	assert_int_equal(pipe(from), 0);
	dup2(from[1], STDOUT_FILENO);
	return before;
}

static void end_output(int before, int from[2], const char *expected)
{
	char text[256] = "";

	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(from[1]);
	assert_int_equal(read(from[0], text, sizeof(text) - 1), strlen(expected));
	close(from[0]);
	assert_string_equal(text, expected);
}

TEST(lines_that_are_not_cut_are_printed_at_once)
{
	struct line line = { 0 };
	int from[2], before = begin_output(from);
	FILE *to = line_begin(&line);

	(void)state;
	fputs("0123456789", to);
	line_end(&line);
	end_output(before, from, "0123456789\n");
	assert_ptr_equal(to, stdout);
	line_fini(&line);
}

TEST(each_line_is_cut_by_itself)
{
	struct line line = { .columns = 16 };
	int from[2], before = begin_output(from);
	static const char *const texts[] = { "0123456789abcdefg", "short", "verb(abcdefg) = 0" };

	(void)state;
	for (int i = 0; i < 3; i++) {
		fputs(texts[i], line_begin(&line));
		line_end(&line);
	}
	line_fini(&line);
	end_output(before, from, "0123456789abc...\nshort\nverb(abc...) = 0\n");
}
