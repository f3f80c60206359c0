/*
 * Untrusted text, printed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/printable.h"
#include "tests/test.h"

struct pair {
	const char *text, *printed;
};

static void assert_printed(const char *text, size_t n, const char *printed)
{
	char to[256], *streamed;
	size_t size, length = printable_text(to, sizeof(to), text, n);
	FILE *out = open_memstream(&streamed, &size);

	assert_string_equal(to, printed);
	assert_int_equal(length, strlen(printed));
	assert_true(length <= PRINTABLE_GROWS * n);
	print_untrusted_bytes(out, text, n);
	fclose(out);
	assert_string_equal(streamed, printed);
	free(streamed);
}

static void assert_pairs(const struct pair *pairs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_printed(pairs[i].text, strlen(pairs[i].text), pairs[i].printed);
}

#define ASSERT_PAIRS(pairs) assert_pairs(pairs, sizeof(pairs) / sizeof(*(pairs)))

TEST(honest_text_stays)
{
	static const char *const texts[] = {
		"",
		"/usr/bin/app --name=\"a b\"",
		"C:\\dir\\file",
		"{\"a\":\"\\u001b\\n\"}",
		("Gr\xc3\xbc\xc3\x9f"
		 "e"),
		"\xe2\x82\xac",
		"\xf0\x9f\x98\x80",
		"\xef\xbf\xbd",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_printed(texts[i], strlen(texts[i]), texts[i]);
}

/* Bytes are read eight at a time. */
TEST(a_byte_is_printed_alike_wherever_it_stands)
{
	char text[20], one[8], wanted[32], lines[32];

	for (int byte = 1; byte < 256; byte++) {
		printable_text(one, sizeof(one), (char[]){ (char)byte }, 1);
		for (int at = 0; at < (int)sizeof(text); at++) {
			memset(text, 'a', sizeof(text));
			text[at] = (char)byte;
			snprintf(wanted, sizeof(wanted), "%.*s%s%.*s", at, text, one,
				 (int)sizeof(text) - at - 1, text + at + 1);
			assert_printed(text, sizeof(text), wanted);
			printable_lines(lines, sizeof(lines), text, sizeof(text));
			if (byte != '\n')
				assert_string_equal(lines, wanted);
			else
				assert_memory_equal(lines, text, sizeof(text));
		}
	}
}

TEST(controls_are_escaped)
{
	static const struct pair pairs[] = {
		{ "\033]0;title\a", "\\x1b]0;title\\x07" },
		{ "a\nb\tc\r", "a\\x0ab\\x09c\\x0d" },
		{ "\177", "\\x7f" },
		{ "\x9b"
		  "31m",
		  "\\x9b31m" },
		{ "\xc2\x9b"
		  "31m",
		  "\\u{009b}31m" },
		{ "\xc2\x80\xc2\xa0", "\\u{0080}\xc2\xa0" },
	};

	ASSERT_PAIRS(pairs);
	assert_printed("a\0b", 3, "a\\x00b");
}

TEST(unseen_characters_are_escaped)
{
	static const struct pair pairs[] = {
		{ "\xe2\x80\xae"
		  "gpj.exe",
		  "\\u{202e}gpj.exe" },
		{ "\xe2\x80\xaa", "\\u{202a}" },
		{ "\xe2\x81\xa6", "\\u{2066}" },
		{ "\xe2\x81\xa9", "\\u{2069}" },
		{ "\xe2\x80\x8b", "\\u{200b}" },
		{ "\xe2\x80\x8e", "\\u{200e}" },
		{ "\xd8\x9c", "\\u{061c}" },
		{ "\xe2\x80\xa8", "\\u{2028}" },
		{ "\xe2\x80\xa9", "\\u{2029}" },
		{ "\xef\xbb\xbf", "\\u{feff}" },
		{ "\xf3\xa0\x81\x81", "\\u{e0041}" },
	};

	ASSERT_PAIRS(pairs);
}

TEST(what_is_not_utf8_is_escaped)
{
	static const struct pair pairs[] = {
		{ "\xc0\x9b", "\\xc0\\x9b" }, /* not the shortest form */
		{ "\xe0\x82\x9b", "\\xe0\\x82\\x9b" },
		{ "\xf0\x80\x82\x9b", "\\xf0\\x80\\x82\\x9b" },
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" },          /* a surrogate */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" }, /* above 0x10ffff */
		{ "\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80" },
		{ "\xff\xfe", "\\xff\\xfe" },
		{ "\xe2\x82", "\\xe2\\x82" }, /* cut short */
		{ "\xe2\x82z", "\\xe2\\x82z" },
		{ "\xc2\xc2\x80", "\\xc2\\u{0080}" },
	};

	ASSERT_PAIRS(pairs);
}

/* An output that looks like an escape was one character, and nothing else. */
TEST(backslashes_are_not_mistaken)
{
	static const struct pair pairs[] = {
		{ "\\x1b", "\\x5cx1b" },
		{ "\\\\x1b", "\\\\x5cx1b" },
		{ "\\u{9b}", "\\x5cu{9b}" },
		{ "\\xg0 \\x1", "\\xg0 \\x1" },
		{ "\\", "\\" },
	};

	ASSERT_PAIRS(pairs);
}

TEST(what_has_no_room_is_left_out_whole)
{
	char to[8];

	assert_int_equal(printable_text(to, 5, "ab\033c", 4), 2);
	assert_string_equal(to, "ab");
	assert_int_equal(printable_text(to, 7, "ab\033c", 4), 6);
	assert_string_equal(to, "ab\\x1b");
	assert_int_equal(printable_text(to, 4, "ab\xe2\x82\xac", 5), 2);
	assert_string_equal(to, "ab");
	assert_int_equal(printable_text(to, 1, "ab", 2), 0);
	assert_string_equal(to, "");
}

TEST(lines_of_ours_stay)
{
	char to[64];

	printable_lines(to, sizeof(to), "a \\x1b\n\033[b\r\n", 12);
	assert_string_equal(to, "a \\x1b\n\\x1b[b\\x0d\n");
}
