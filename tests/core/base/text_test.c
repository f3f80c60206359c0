/*
 * Strings of JSON
 */
#include <string.h>

#include "core/base/text.h"
#include "tests/test.h"

static void assert_json(const char *bytes, size_t n, const char *json)
{
	struct text text = { 0 };

	text_json(&text, bytes, n);
	assert_false(text.failed);
	assert_string_equal(text.at, json);
	text_fini(&text);
}

TEST(what_is_printable_stays)
{
	static const char text[] = "a b\xc3\xbc\xf0\x9f\x98\x80";

	assert_json(text, strlen(text), "\"a b\xc3\xbc\xf0\x9f\x98\x80\"");
	assert_json("\"\\", 2, "\"\\\"\\\\\"");
}

TEST(what_is_not_is_escaped)
{
	assert_json("\033\n\177", 3, "\"\\u001b\\u000a\\u007f\"");
	assert_json("\xc2\x9b", 2, "\"\\u009b\"");
	assert_json("\xe2\x80\xae\xef\xbb\xbf", 6, "\"\\u202e\\ufeff\"");
	assert_json("\xf3\xa0\x81\x81", 4, "\"\\udb40\\udc41\"");
	assert_json("\xed\xa0\x80", 3, "\"\\u00ed\\u00a0\\u0080\"");
	assert_json("\0", 1, "\"\\ufffd\"");
}

TEST(text_of_others_is_made_printable)
{
	struct text text = { 0 };

	text_printable(&text, "a\nb\033");
	text_printable(&text, "");
	text_printable(&text, "\xff");
	assert_string_equal(text.at, "a\\x0ab\\x1b\\xff");
	text_fini(&text);
}
