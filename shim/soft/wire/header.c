/*
 * Writing and reading headers
 */
#include "shim/soft/wire/header.h"

/* @bit: where the next field begins. With constant arguments, these become a load or a store. */
static inline __attribute__((always_inline)) void put_field(uint8_t *to, unsigned int *bit,
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
get_field(const uint8_t *from, unsigned int *bit, unsigned int bits)
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

static void write_bth(const struct header *header, uint8_t *to)
{
	unsigned int bit = 0;

#define F(bits, name) put_field(to, &bit, bits, header->bth.name);
	HEADER_BTH(F)
#undef F
}

static void read_bth(struct header *header, const uint8_t *from)
{
	unsigned int bit = 0;

#define F(bits, name) header->bth.name = get_field(from, &bit, bits);
	HEADER_BTH(F)
#undef F
}

#define F(bits, name) put_field(to, &bit, bits, h->name);
#define H(upper, lower, size)                                               \
	static void write_##lower(const struct header *header, uint8_t *to) \
	{                                                                   \
		const __typeof__(header->lower) *h = &header->lower;        \
		unsigned int bit = 0;                                       \
                                                                            \
		HEADER_##upper(F)                                           \
	}
HEADERS(H)
#undef F
#undef H

#define F(bits, name) h->name = get_field(from, &bit, bits);
#define H(upper, lower, size)                                                \
	static void read_##lower(struct header *header, const uint8_t *from) \
	{                                                                    \
		__typeof__(header->lower) *h = &header->lower;               \
		unsigned int bit = 0;                                        \
                                                                             \
		HEADER_##upper(F)                                            \
	}
HEADERS(H)
#undef F
#undef H

size_t header_size(uint8_t opcode)
{
	unsigned int has = opcode_headers(opcode);
	size_t size = HEADER_BTH_SIZE;

	if (!opcode_info(opcode))
		return 0;
#define H(upper, lower, bytes) size += has & OPCODE_##upper ? (bytes) : 0;
	HEADERS(H)
#undef H
	return size;
}

size_t header_write(const struct header *header, uint8_t *to)
{
	unsigned int has = opcode_headers(header->bth.opcode);
	uint8_t *at = to + HEADER_BTH_SIZE;

	write_bth(header, to);
#define H(upper, lower, size)              \
	if (has & OPCODE_##upper) {        \
		write_##lower(header, at); \
		at += size;                \
	}
	HEADERS(H)
#undef H
	return at - to;
}

size_t header_read(struct header *header, const uint8_t *from, size_t len)
{
	const uint8_t *at = from + HEADER_BTH_SIZE;
	unsigned int has;

	if (len < HEADER_BTH_SIZE)
		return 0;
	read_bth(header, from);
	if (header->bth.version || !opcode_info(header->bth.opcode) ||
	    len < header_size(header->bth.opcode))
		return 0;
	has = opcode_headers(header->bth.opcode);
#define H(upper, lower, size)             \
	if (has & OPCODE_##upper) {       \
		read_##lower(header, at); \
		at += size;               \
	}
	HEADERS(H)
#undef H
	return at - from;
}
