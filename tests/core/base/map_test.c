#include <stdlib.h>

#include "core/base/map.h"
#include "tests/test.h"

TEST(empty_has_nothing)
{
	struct map map = { 0 };
	uint64_t value;

	assert_false(map_get(&map, 0, &value));
	map_fini(&map);
}

TEST(key_zero_is_a_key)
{
	struct map map = { 0 };
	uint64_t value = 0;

	assert_int_equal(map_put(&map, 0, 7), 0);
	assert_true(map_get(&map, 0, &value));
	assert_int_equal(value, 7);
	map_fini(&map);
}

TEST(the_later_value_stands)
{
	struct map map = { 0 };
	uint64_t value = 0;

	map_put(&map, 5, 1);
	map_put(&map, 5, 2);
	assert_true(map_get(&map, 5, &value));
	assert_int_equal(value, 2);
	map_fini(&map);
}

TEST(many_are_all_found)
{
	struct map map = { 0 };
	uint64_t value;

	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(map_put(&map, i << 32 | i, i), 0);
	for (uint64_t i = 0; i < 100000; i++) {
		assert_true(map_get(&map, i << 32 | i, &value));
		assert_int_equal(value, i);
	}
	assert_false(map_get(&map, 100000, &value));
	map_fini(&map);
}

TEST(removed_are_gone_and_others_stay)
{
	enum { KEYS = 5000, ROUNDS = 200000 };
	static bool there[KEYS];
	struct map map = { 0 };
	uint64_t value, random = 1;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t key;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		key = (random >> 33) % KEYS;
		if (random >> 62) {
			map_remove(&map, key);
			there[key] = false;
		} else {
			assert_int_equal(map_put(&map, key, key + 1), 0);
			there[key] = true;
		}
	}
	for (uint64_t key = 0; key < KEYS; key++) {
		assert_int_equal(map_get(&map, key, &value), there[key]);
		if (there[key])
			assert_int_equal(value, key + 1);
	}
	map_fini(&map);
}
