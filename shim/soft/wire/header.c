/*
 * Writing and reading headers
 */
#include "shim/soft/wire/header.h"

#include "shim/soft/wire/field.h"

static void write_bth(const struct header *header, uint8_t *to)
{
	unsigned int bit = 0;

#define F(bits, name) field_put(to, &bit, bits, header->bth.name);
	HEADER_BTH(F)
#undef F
}

static void read_bth(struct header *header, const uint8_t *from)
{
	unsigned int bit = 0;

#define F(bits, name) header->bth.name = field_get(from, &bit, bits);
	HEADER_BTH(F)
#undef F
}

#define F(bits, name) field_put(to, &bit, bits, h->name);
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

#define F(bits, name) h->name = field_get(from, &bit, bits);
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
