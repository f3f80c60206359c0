#include "shim/soft/wire/psn.h"
#include "tests/test.h"

TEST(numbers_wrap_at_24_bits)
{
	assert_int_equal(psn_add(0xffffff, 1), 0);
	assert_int_equal(psn_add(0, -1), 0xffffff);
	assert_int_equal(psn_diff(0, 0xffffff), 1);
	assert_int_equal(psn_diff(0xffffff, 0), -1);
}

TEST(half_the_circle_is_ahead)
{
	assert_true(psn_is_before(5, psn_add(5, 0x7fffff)));
	assert_false(psn_is_before(5, psn_add(5, 0x800001)));
	assert_false(psn_is_before(5, 5));
}
