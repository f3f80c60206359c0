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
		{ 0x7f0012340000, 4097, "the access ends 1 byte past its end" },
		{ 0x7f0012340000, 4136,
		  "the access ends 40 bytes past its end, the length of a GRH" },
		{ 0x7f001233fff0, 32, "the access begins 16 bytes before its start" },
		{ 0x7f0012340010, 4096,
		  "the access ends 16 bytes past its end, and has its full length: was the length "
		  "of a header not subtracted?" },
		{ 0x7f0012340010, 4097, "the access ends 17 bytes past its end" },
		{ 0x7f0012340101, 4096, "the access ends 257 bytes past its end" },
		{ 0x7f001233ffe0, 4096,
		  "the access begins 32 bytes before its start, and has its full length: was "
		  "the length of a header not subtracted?" },
		{ 0x7f001233ffe0, 4128,
		  "the access begins 32 bytes before its start, and ends at its end: does a header "
		  "precede it?" },
		{ 0x7f0012341000, 8, "the access begins exactly at its end" },
		{ 0x7f0012341001, 8, "the access begins 1 byte past its end" },
		{ 0x7f0012341014, 20,
		  "the access lies past its end, by up to 40 bytes, the length of a GRH" },
		{ 0x7f0012342001, 8, "they do not overlap" },
		{ 0x7f001233fff0, 16, "they do not overlap" },
		{ 0, 8, "the address is 0" },
		{ 1, 8, "the address looks like an offset into it" },
		{ 4095, 1, "the address looks like an offset into it" },
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
