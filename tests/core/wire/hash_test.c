/*
 * XXH64, against values that xxhsum -H1 prints
 */
#include <stdlib.h>
#include <string.h>

#include "core/wire/hash.h"
#include "tests/test.h"

TEST(known_values)
{
	assert_true(hash_of("", 0, 1) == 0xd5afba1336a3be4bull);
	assert_true(hash_of("abc", 3, 0x1234567890abcdef) == 0x735174907585e19dull);
	assert_true(hash_of("The quick brown fox jumps over the lazy dog", 43, UINT64_MAX) ==
		    0x9f3d039cd26eeafcull);
	assert_true(hash_of("", 0, 0) == 0xef46db3751d8e999ull);
	assert_true(hash_of("a", 1, 0) == 0xd24ec4f1a98c6e5bull);
	assert_true(hash_of("abc", 3, 0) == 0x44bc2cf5ad770999ull);
	assert_true(hash_of("The quick brown fox jumps over the lazy dog", 43, 0) ==
		    0x0b242d361fda71bcull);
}

TEST(in_parts_as_in_one)
{
	uint8_t bytes[200];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		for (size_t first = 0; first <= n; first++) {
			struct hash hash;

			hash_begin(&hash, 0);
			hash_add(&hash, bytes, first);
			hash_add(&hash, bytes + first, n - first);
			assert_true(hash_end(&hash) == hash_of(bytes, n, 0));
		}
	}
}
