/*
 * CRC-32, eight bytes at a time; on x86-64 sixty-four
 *
 * table[k][b] is the effect of a byte b that k other bytes follow.
 *
 * Carry-less multiplication moves a block over the bytes that follow it: the block is replaced by
 * its product with a power of x, which has the same remainder. So four blocks of 16 bytes are moved
 * along the data, and combined at the end. Source: V. Gopal and others, "Fast CRC Computation for
 * Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009, which has these constants.
 *
 * Going back over zero bytes is a multiplication by a negative power of x, in the field of
 * polynomials modulo the generator: that is primitive, so x^-n is x^(2^32 - 1 - n).
 */
#include "shim/soft/wire/crc32.h"

#include <endian.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define GENERATOR 0xedb88320u
#define ONE       0x80000000u /* x^0, as bits are reversed */

enum { SLICES = 8 };

static uint32_t table[SLICES][256];

__attribute__((constructor)) static void fill_table(void)
{
	uint32_t b, k, crc;

	for (b = 0; b < 256; b++) {
		crc = b;
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? GENERATOR : 0);
		table[0][b] = crc;
	}
	for (k = 1; k < SLICES; k++)
		for (b = 0; b < 256; b++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

static inline uint32_t add_eight(uint32_t crc, const uint8_t *at)
{
	uint32_t low, high;

	memcpy(&low, at, sizeof(low));
	memcpy(&high, at + 4, sizeof(high));
	low = le32toh(low) ^ crc;
	high = le32toh(high);
	return table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^
	       table[4][low >> 24] ^ table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^
	       table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
}

static inline uint32_t add_four(uint32_t crc, const uint8_t *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	word = le32toh(word) ^ crc;
	return table[3][word & 0xff] ^ table[2][word >> 8 & 0xff] ^ table[1][word >> 16 & 0xff] ^
	       table[0][word >> 24];
}

#if defined(__x86_64__)
enum { FOLDED = 128 /* bytes: from this length on, it is faster */ };

#define FOLDS __attribute__((target("pclmul")))

/* Move @block over the bytes for which @powers are, and add @onto, the block there. */
FOLDS static inline __m128i fold_block(__m128i block, __m128i powers, __m128i onto)
{
	__m128i low = _mm_clmulepi64_si128(block, powers, 0x00);
	__m128i high = _mm_clmulepi64_si128(block, powers, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

static inline __m128i load_block(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)at);
}

/* Continue @crc with @len bytes, a multiple of 16 and at least 64. */
FOLDS static uint32_t add_folded(uint32_t crc, const uint8_t *at, size_t len)
{
	const __m128i over_64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i over_16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	__m128i block[4];
	uint8_t rest[16];
	int i;

	for (i = 0; i < 4; i++)
		block[i] = load_block(at + 16 * i);
	block[0] = _mm_xor_si128(block[0], _mm_cvtsi32_si128(crc));
	for (at += 64, len -= 64; len >= 64; at += 64, len -= 64)
		for (i = 0; i < 4; i++)
			block[i] = fold_block(block[i], over_64, load_block(at + 16 * i));
	for (i = 1; i < 4; i++)
		block[0] = fold_block(block[0], over_16, block[i]);
	for (; len; at += 16, len -= 16)
		block[0] = fold_block(block[0], over_16, load_block(at));
	_mm_storeu_si128((__m128i *)rest, block[0]);
	return add_eight(add_eight(0, rest), rest + 8);
}
#endif

uint32_t crc32_add(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *at = data;

#if defined(__x86_64__)
	size_t folded = len & ~15ul;

	if (len >= FOLDED && __builtin_cpu_supports("pclmul")) {
		crc = add_folded(crc, at, folded);
		at += folded;
		len -= folded;
	}
#endif
	for (; len >= 8; len -= 8, at += 8)
		crc = add_eight(crc, at);
	if (len >= 4) {
		crc = add_four(crc, at);
		at += 4;
		len -= 4;
	}
	for (; len; len--)
		crc = crc >> 8 ^ table[0][(crc ^ *at++) & 0xff];
	return crc;
}

static uint32_t multiply_powers(uint32_t a, uint32_t b)
{
	uint32_t product = 0, bit;

	for (bit = ONE; bit; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b >> 1 ^ (b & 1 ? GENERATOR : 0);
	}
	return product;
}

static uint32_t power_of_x(uint32_t n)
{
	uint32_t power = ONE, square = ONE >> 1;

	for (; n; n >>= 1) {
		if (n & 1)
			power = multiply_powers(power, square);
		square = multiply_powers(square, square);
	}
	return power;
}

uint32_t crc32_back(uint32_t crc, size_t len)
{
	return multiply_powers(crc, power_of_x(UINT32_MAX - 8 * (uint32_t)len));
}
