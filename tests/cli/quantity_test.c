#include "cli/quantity.h"
#include "tests/test.h"

TEST(times_are_read_to_the_nanosecond)
{
	/* clang-format off */
	static const struct {
		const char *text;
		int64_t ns;
	} cases[] = {
		{ "490ms", 490000000 },	       { "30s", 30000000000 },
		{ "5m", 300000000000 },	       { "1h", 3600000000000 },
		{ "2d", 172800000000000 },     { "12us", 12000 },
		{ "7ns", 7 },		       { "1.5s", 1500000000 },
		{ "0.5m", 30000000000 },       { "0.000000001", 1 },
		{ "3.141592653", 3141592653 }, { "0.0000000009", 0 },
		{ "0", 0 },		       { "10", 10000000000 },
		{ "63.4 ms", 63400000 },       { "1 s", 1000000000 },
	};
	/* clang-format on */
	int64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(quantity_time(cases[i].text, true, &ns));
		assert_int_equal(ns, cases[i].ns);
	}
}

TEST(what_is_no_time_is_refused)
{
	static const char *const bad[] = { "",     "s",       "-1s",  "+1s",
					   " 1s",  "1  s",    "1x",   "1sm",
					   ".5s",  "1..5s",   "1e3",  "0x1",
					   "300y", "106752d", "soon", "99999999999999999999s" };
	int64_t ns = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(quantity_time(bad[i], true, &ns));
	assert_false(quantity_time("10", false, &ns));
	assert_int_equal(ns, 77);
}

TEST(numbers_have_a_limit_and_no_sign)
{
	uint64_t number;

	assert_true(quantity_number("18446744073709551615", UINT64_MAX, &number));
	assert_true(number == UINT64_MAX);
	assert_false(quantity_number("18446744073709551616", UINT64_MAX, &number));
	assert_false(quantity_number("10", 9, &number));
	assert_false(quantity_number("-1", UINT64_MAX, &number));
	assert_false(quantity_number("", UINT64_MAX, &number));
	assert_false(quantity_number("1a", UINT64_MAX, &number));
}

TEST(texts_are_in_the_largest_unit_that_divides)
{
	char text[QUANTITY_TEXT];

	assert_string_equal(quantity_size_text(256 << 10, text), "256k");
	assert_string_equal(quantity_size_text(1 << 30, text), "1G");
	assert_string_equal(quantity_size_text(1000, text), "1000");
	assert_string_equal(quantity_time_text(90000000000, text), "90s");
	assert_string_equal(quantity_time_text(86400000000000, text), "1d");
	assert_string_equal(quantity_time_text(0, text), "0ns");
}
