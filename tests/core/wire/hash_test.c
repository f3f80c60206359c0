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

/* clang-format off */
static const struct {
	size_t n;
	uint64_t seed_0, seed_golden; /* hashes with these seeds */
} lengths[] = {
	{ 1, 0xe934a84adb052768ull, 0x126bb57a12364aa5ull },
	{ 3, 0xf5cd310a927fde3eull, 0xe653859648b1b96cull },
	{ 4, 0xa9c00ae8f9b200f0ull, 0x0a8cbd39aefac4c9ull },
	{ 5, 0x89b53bed953a032aull, 0x52c4a8d4b81c4162ull },
	{ 7, 0x72b108a52e458e66ull, 0xbad8eb9aa35de728ull },
	{ 8, 0x74c725313330d0ccull, 0xd7630276207ab327ull },
	{ 9, 0x622cbdf629d081f5ull, 0x0aea16b172dddde3ull },
	{ 11, 0xf78b27ef1d8aa948ull, 0xa985917e3b664752ull },
	{ 12, 0xad787b96d955363bull, 0x604ff93fc4e065f5ull },
	{ 15, 0x1f178573c895a1e2ull, 0xa98e526daa9bb469ull },
	{ 16, 0x6d11a17cba958731ull, 0x20bd3b95cdc2d0c7ull },
	{ 20, 0x5ebb8b98e1ab4a34ull, 0xdb5876bd8dc11f08ull },
	{ 28, 0xf230a9a1a66e966dull, 0x81f6d933050e0df0ull },
	{ 31, 0xf850659766dc378dull, 0xfb07671eadc18d31ull },
	{ 32, 0x933a79bffa5ca70dull, 0x122ff50e413f6db4ull },
	{ 33, 0x73d1ced1fc434b81ull, 0xec32d4bf2d1c9002ull },
	{ 36, 0xa10adc6546c629e8ull, 0xe118d0464d6fe46cull },
	{ 40, 0xf16a1a29824acbf2ull, 0x5dffc9352c07858aull },
	{ 47, 0xd9f4d31e83b868b9ull, 0x37dd8b05d4e69ed0ull },
	{ 63, 0x4999da3ed0d0a3a3ull, 0xa54d7e849db0f365ull },
	{ 64, 0x96ae9699d1ce1876ull, 0x8b98ab51ab642a05ull },
	{ 65, 0x2fd905db1b932ec7ull, 0x15c13f0efe0ac26dull },
	{ 96, 0x04a5a8cdf35b7d4dull, 0x870430452d867c32ull },
	{ 127, 0xd2dc3ea970438f2aull, 0x60ce8a5d7a1b9393ull },
	{ 1024, 0xc3b77bc09ab4d0c3ull, 0x385866a858455863ull },
};
/* clang-format on */

/* Less than a block, several blocks, and all possible remainders. */
TEST(known_values_of_each_length)
{
	uint8_t bytes[1024];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + (i >> 3));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		assert_true(hash_of(bytes, lengths[i].n, 0) == lengths[i].seed_0);
		assert_true(hash_of(bytes, lengths[i].n, 0x9e3779b97f4a7c15ull) ==
			    lengths[i].seed_golden);
	}
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
