/*
 * Words for numbers
 */
#include "analyzer/model/words.h"

#include "analyzer/model/key.h"
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

TEST(one_has_no_plural)
{
	static const struct {
		uint64_t n;
		const char *what, *text;
	} rows[] = {
		{ 0, "region", "0 regions" }, { 1, "region", "1 region" },
		{ 2, "entry", "2 entries" },  { 1, "entry", "1 entry" },
		{ 2, "relay", "2 relays" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(WORDS_N(rows[i].n, rows[i].what), rows[i].text);
}

TEST(an_address_outside_a_region_is_related_to_it)
{
	static const struct key key = { .addr = 0x7f0012340000, .length = 4096 };
	static const struct {
		uint64_t addr, length;
		const char *text;
	} rows[] = {
		{ 0x7f0012340000, 4097, "it ends 1 byte after it" },
		{ 0x7f0012340000, 4136, "it ends 40 bytes after it, as many as a GRH has" },
		{ 0x7f001233fff0, 32, "it begins 16 bytes before it" },
		{ 0x7f0012340010, 4096,
		  "it ends 16 bytes after it, and is as long as it: is the length of a header left "
		  "out?" },
		{ 0x7f0012340010, 4097, "it ends 17 bytes after it" },
		{ 0x7f0012340101, 4096, "it ends 257 bytes after it" },
		{ 0x7f001233ffe0, 4096,
		  "it begins 32 bytes before it, and is as long as it: is the length of a header "
		  "left out?" },
		{ 0x7f001233ffe0, 4128,
		  "it begins 32 bytes before it, and ends with it: does a header lie before it?" },
		{ 0x7f0012341000, 8, "it begins right behind it" },
		{ 0x7f0012341001, 8, "it begins 1 byte after its end" },
		{ 0x7f0012341014, 20,
		  "it lies behind it, and ends 40 bytes after its end, as many as a GRH has" },
		{ 0x7f0012342001, 8, "they do not overlap" },
		{ 0x7f001233fff0, 16, "they do not overlap" },
		{ 0, 8, "the address is 0" },
		{ 1, 8, "it is an offset into it, not an address" },
		{ 4095, 1, "it is an offset into it, not an address" },
		{ 4096, 1, "they do not overlap" },
		{ 0x12340010, 8, "the upper 32 bits of the address are missing" },
		{ 0x12341000, 8, "they do not overlap" },
		{ 0x100034127f0000, 8, "they do not overlap" },
		{ 0x10003412007f0000, 8, "the bytes of the address are in reverse order" },
	};
	char text[WORDS_RELATION];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(words_relation(&key, rows[i].addr, rows[i].length, text),
				    rows[i].text);
}
