/*
 * CRC-32, eight bytes at a time
 *
 * table[k][b] is the effect of byte b that is followed by k other bytes.
 *
 * Going back over zero bytes is a multiplication by a negative power of x, in the field of
 * polynomials modulo the generator: that is primitive, so x^-n is x^(2^32 - 1 - n).
 */
#include "shim/soft/wire/crc32.h"

#include <endian.h>
#include <string.h>

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

uint32_t crc32_add(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *at = data;

	for (; len >= 8; len -= 8, at += 8)
		crc = add_eight(crc, at);
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
