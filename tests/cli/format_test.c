#include <stdlib.h>

#include "cli/format.h"
#include "tests/test.h"

static char text[FORMAT_TEXT];

TEST(counts_have_commas)
{
	assert_string_equal(format_count(0, text), "0");
	assert_string_equal(format_count(999, text), "999");
	assert_string_equal(format_count(1000, text), "1,000");
	assert_string_equal(format_count(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

TEST(times_have_three_figures)
{
	assert_string_equal(format_time(0, text), "0 ns");
	assert_string_equal(format_time(999, text), "999 ns");
	assert_string_equal(format_time(1000, text), "1.00 us");
	assert_string_equal(format_time(12345, text), "12.3 us");
	assert_string_equal(format_time(999999, text), "1.00 ms");
	assert_string_equal(format_time(123456789012, text), "123 s");
	assert_string_equal(format_time(-1, text), "-");
}

TEST(bytes_go_by_powers_of_1024)
{
	assert_string_equal(format_bytes(0, text), "0 B");
	assert_string_equal(format_bytes(512, text), "512 B");
	assert_string_equal(format_bytes(1023, text), "1023 B");
	assert_string_equal(format_bytes(1024, text), "1 KiB");
	assert_string_equal(format_bytes(1025, text), "1.00 KiB");
	assert_string_equal(format_bytes(512 << 10, text), "512 KiB");
	assert_string_equal(format_bytes(1234567, text), "1.18 MiB");
	assert_string_equal(format_bytes((1ull << 30) - 1, text), "1.00 GiB");
	assert_string_equal(format_bytes(UINT64_MAX, text), "16777216 TiB");
}
