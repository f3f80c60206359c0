/*
 * Sizes as people write them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/size.h"

static void numbers_and_units(void **state)
{
	(void)state;
	assert_int_equal(size_parse("4096"), 4096);
	assert_int_equal(size_parse("256k"), 256 << 10);
	assert_int_equal(size_parse("256K"), 256 << 10);
	assert_int_equal(size_parse("4M"), 4 << 20);
	assert_int_equal(size_parse("2G"), 2ull << 30);
	assert_true(size_parse("18446744073709551615") == UINT64_MAX);
}

static void what_is_none(void **state)
{
	(void)state;
	assert_int_equal(size_parse(""), 0);
	assert_int_equal(size_parse("4MB"), 0);
	assert_int_equal(size_parse("-1"), 0);
	assert_int_equal(size_parse(" -1"), 0);
	assert_int_equal(size_parse("M"), 0);
}

static void what_64_bits_do_not_hold(void **state)
{
	(void)state;
	assert_int_equal(size_parse("18446744073709551616"), 0);
	assert_int_equal(size_parse("17179869185G"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_units),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(what_64_bits_do_not_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
