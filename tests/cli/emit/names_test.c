/*
 * Names in the C program; texts of the trace are data
 */
#include "cli/emit/names.h"

#include <errno.h>

#include "tests/test.h"

struct row {
	const char *name;
	void (*add)(struct text *text, const char *foreign);
	const char *foreign, *written;
};

/* clang-format off */
static const struct row rows[] = {
	{ "a_comment_is_not_ended", names_add_comment, "a*/ int x; /*", "a* / int x; / *" },
	{ "a_comment_is_not_ended_by_stars", names_add_comment, "**/", "** /" },
	{ "a_comment_has_one_line", names_add_comment, "a\nb\\", "a\\x0ab\\x5c" },
	{ "a_comment_has_no_trigraph", names_add_comment, "?" "?/", "? ?/" },
	{ "a_comment_is_ascii", names_add_comment, "\xe2\x80\xae", "\\xe2\\x80\\xae" },
	{ "a_string_is_not_ended", names_add_string, "a\"b\\", "a\\\"b\\\\" },
	{ "a_string_has_one_line", names_add_string, "a\nb", "a\\012b" },
	{ "a_string_has_no_trigraph", names_add_string, "?" "?/", "\\?\\?/" },
	{ "no_text_is_nothing", names_add_string, NULL, "" },
};
/* clang-format on */

static void write_foreign(void **state)
{
	const struct row *row = *state;
	struct text text = { 0 };

	row->add(&text, row->foreign);
	assert_string_equal(text.at ? text.at : "", row->written);
	text_fini(&text);
}
TEST_ROWS(rows, write_foreign);

TEST(flags_are_named_and_the_rest_is_a_number)
{
	struct text text = { 0 };

	names_add_flags(&text, enum_find("ibv_send_flags"), 2 | 8 | 0x100);
	assert_string_equal(text.at, "IBV_SEND_SIGNALED |\n\tIBV_SEND_INLINE | 0x100");
	text_cut(&text, 0);
	names_add_flags(&text, enum_find("ibv_send_flags"), 0);
	assert_string_equal(text.at, "0");
	text_fini(&text);
}

TEST(enumerators_and_errors_are_named)
{
	struct text text = { 0 };

	names_add_enum(&text, enum_find("ibv_wc_status"), 12);
	text_char(&text, ' ');
	names_add_enum(&text, enum_find("ibv_wc_status"), 1234);
	text_char(&text, ' ');
	names_add_errno(&text, EINVAL);
	text_char(&text, ' ');
	names_add_errno(&text, -ENOMEM);
	text_char(&text, ' ');
	names_add_errno(&text, 0);
	assert_string_equal(text.at, "IBV_WC_RETRY_EXC_ERR 1234 EINVAL -ENOMEM 0");
	text_fini(&text);
}
