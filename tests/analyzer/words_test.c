/*
 * Words for numbers
 */
#include "analyzer/model/words.h"

#include "tests/test.h"

TEST(spans_have_no_unit_too_small)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 ns" },           { 9999, "9999 ns" },      { 10000, "10.0 us" },
		{ 999949, "999.9 us" },  { 999950, "1.0 ms" },     { 999949999, "999.9 ms" },
		{ 999950000, "1.00 s" }, { 1500000000, "1.50 s" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(words_span(rows[i].ns, text), rows[i].text);
}
