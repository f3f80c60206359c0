/*
 * Sizes as users write them
 */
#include "core/base/size.h"
#include "tests/test.h"

TEST(numbers_and_units)
{
	assert_int_equal(size_parse("4096"), 4096);
	assert_int_equal(size_parse("256k"), 256 << 10);
	assert_int_equal(size_parse("256K"), 256 << 10);
	assert_int_equal(size_parse("4M"), 4 << 20);
	assert_int_equal(size_parse("4m"), 4 << 20);
	assert_int_equal(size_parse("2G"), 2ull << 30);
	assert_int_equal(size_parse("2g"), 2ull << 30);
	assert_true(size_parse("18446744073709551615") == UINT64_MAX);
}

TEST(what_is_none)
{
	assert_int_equal(size_parse(""), 0);
	assert_int_equal(size_parse("4MB"), 0);
	assert_int_equal(size_parse("-1"), 0);
	assert_int_equal(size_parse(" -1"), 0);
	assert_int_equal(size_parse("M"), 0);
}

TEST(what_64_bits_do_not_hold)
{
	assert_int_equal(size_parse("18446744073709551616"), 0);
	assert_int_equal(size_parse("17179869185G"), 0);
}
