#pragma once
/*
 * Fields of packets: big-endian, of up to 64 bits, without gaps.
 */
#include <stdint.h>

/*
 * Write a field. *@bit: where it begins, then where the next one begins. With constant arguments,
 * this becomes a store; reading becomes a load.
 */
static inline __attribute__((always_inline)) void field_put(uint8_t *to, unsigned int *bit,
							    unsigned int bits, uint64_t value)
{
	unsigned int end = *bit + bits, i;

	for (i = *bit / 8; i * 8 < end; i++) {
		int shift = (int)end - 8 * (int)(i + 1);
		uint64_t part = shift >= 0 ? value >> shift : value << -shift;
		unsigned int from = i * 8 < *bit ? *bit % 8 : 0;

		to[i] = (to[i] & ~(0xffu >> from)) | (part & (0xffu >> from));
	}
	*bit = end;
}

static inline __attribute__((always_inline)) uint64_t
field_get(const uint8_t *from, unsigned int *bit, unsigned int bits)
{
	unsigned int end = *bit + bits, i;
	uint64_t value = 0;

	for (i = *bit / 8; i * 8 < end; i++) {
		unsigned int skip = i * 8 < *bit ? *bit % 8 : 0;
		unsigned int cut = (i + 1) * 8 > end ? (i + 1) * 8 - end : 0;

		value = value << (8 - skip - cut) | (from[i] & (0xffu >> skip)) >> cut;
	}
	*bit = end;
	return value;
}
