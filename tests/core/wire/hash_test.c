/*
 * XXH64, against values that xxhsum -H1 prints
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/hash.h"

static void known_values(void **state)
{
	(void)state;
	assert_true(hash_of("", 0) == 0xef46db3751d8e999ull);
	assert_true(hash_of("a", 1) == 0xd24ec4f1a98c6e5bull);
	assert_true(hash_of("abc", 3) == 0x44bc2cf5ad770999ull);
	assert_true(hash_of("The quick brown fox jumps over the lazy dog", 43) ==
		    0x0b242d361fda71bcull);
}

static void in_parts_as_in_one(void **state)
{
	uint8_t bytes[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		for (size_t first = 0; first <= n; first++) {
			struct hash hash;

			hash_begin(&hash);
			hash_add(&hash, bytes, first);
			hash_add(&hash, bytes + first, n - first);
			assert_true(hash_end(&hash) == hash_of(bytes, n));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(in_parts_as_in_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
