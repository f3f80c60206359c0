#include <string.h>

#include "shim/soft/wire/crc32.h"
#include "tests/test.h"

TEST(check_value_is_that_of_the_standard)
{
	assert_int_equal(~crc32_add(~0u, "123456789", 9), 0xcbf43926);
}

TEST(pieces_give_the_same)
{
	const char text[] = "The quick brown fox jumps over the lazy dog, twice.";
	uint32_t whole = crc32_add(1, text, sizeof(text));
	size_t i;

	for (i = 0; i <= sizeof(text); i++)
		assert_int_equal(crc32_add(crc32_add(1, text, i), text + i, sizeof(text) - i),
				 whole);
}

/* One bit at a time, as the standard says. */
static uint32_t add_bits(uint32_t crc, const uint8_t *at, size_t len)
{
	for (; len; len--, at++) {
		crc ^= *at;
		for (int k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

TEST(all_lengths_are_as_the_standard_says)
{
	uint8_t bytes[700];
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i * 167 + i / 3);
	for (i = 0; i < sizeof(bytes) - 7; i++)
		assert_int_equal(crc32_add(0x89abcdef, bytes + i % 7, i),
				 add_bits(0x89abcdef, bytes + i % 7, i));
}

TEST(zeros_are_taken_back)
{
	static const uint8_t zeros[4200];
	size_t len;

	for (len = 0; len <= sizeof(zeros); len += 7)
		assert_int_equal(crc32_back(crc32_add(0x12345678, zeros, len), len), 0x12345678);
}
