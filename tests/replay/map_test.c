#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replay/map.h"

static void empty_has_nothing(void **state)
{
	struct map map = { 0 };
	uint64_t value;

	(void)state;
	assert_false(map_get(&map, 0, &value));
	map_fini(&map);
}

static void key_zero_is_a_key(void **state)
{
	struct map map = { 0 };
	uint64_t value = 0;

	(void)state;
	assert_int_equal(map_put(&map, 0, 7), 0);
	assert_true(map_get(&map, 0, &value));
	assert_int_equal(value, 7);
	map_fini(&map);
}

static void the_later_value_stands(void **state)
{
	struct map map = { 0 };
	uint64_t value = 0;

	(void)state;
	map_put(&map, 5, 1);
	map_put(&map, 5, 2);
	assert_true(map_get(&map, 5, &value));
	assert_int_equal(value, 2);
	map_fini(&map);
}

static void many_are_all_found(void **state)
{
	struct map map = { 0 };
	uint64_t value;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(map_put(&map, i << 32 | i, i), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		assert_true(map_get(&map, i << 32 | i, &value));
		assert_int_equal(value, i);
	}
	assert_false(map_get(&map, 100000, &value));
	map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_has_nothing),
		cmocka_unit_test(key_zero_is_a_key),
		cmocka_unit_test(the_later_value_stands),
		cmocka_unit_test(many_are_all_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
