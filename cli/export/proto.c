/*
 * Messages of protocol buffers, field by field
 *
 *	field << 3 | wire type, as a varint; then the number, or a length and as many bytes
 *
 * A varint has seven bits a byte, the least significant first, and a bit that says whether more
 * follow.
 */
#include "cli/export/proto.h"

#include <string.h>

#include "core/base/text.h"

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES };

static void add_varint(struct text *to, uint64_t number)
{
	enum { VARINT_MAX = 10 };
	char *at = text_space(to, VARINT_MAX);

	if (!at)
		return;
	for (; number > 0x7f; number >>= 7, to->used++)
		*at++ = (char)(number | 0x80);
	*at = (char)number;
	to->used++;
}

static void add_key(struct text *to, unsigned int field, unsigned int type)
{
	add_varint(to, (uint64_t)field << 3 | type);
}

void proto_put_number(struct text *to, unsigned int field, uint64_t number)
{
	add_key(to, field, WIRE_VARINT);
	add_varint(to, number);
}

void proto_put_fixed(struct text *to, unsigned int field, uint64_t number)
{
	char bytes[8];

	add_key(to, field, WIRE_FIXED64);
	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(number >> 8 * i);
	text_add(to, bytes, sizeof(bytes));
}

static void add_bytes(struct text *to, unsigned int field, const char *bytes, size_t n)
{
	add_key(to, field, WIRE_BYTES);
	add_varint(to, n);
	if (n)
		text_add(to, bytes, n);
}

void proto_put_string(struct text *to, unsigned int field, const char *string)
{
	add_bytes(to, field, string, strlen(string));
}

void proto_put_message(struct text *to, unsigned int field, const struct text *message)
{
	add_bytes(to, field, message->at, message->used);
	to->failed = to->failed || message->failed;
}
