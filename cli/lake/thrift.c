/*
 * Structures in the compact protocol of Thrift
 *
 * 	field	4 bits: its id less that of the one before, 4 bits: type; or 0 and type, zigzag id
 * 	list	4 bits: number of elements, or 15 and varint; 4 bits: their type
 * 	end	a byte 0
 */
#include "cli/lake/thrift.h"

#include <string.h>

void thrift_put_varint(struct text *to, uint64_t number)
{
	for (; number >= 128; number >>= 7)
		text_char(to, (char)(number | 128));
	text_char(to, (char)number);
}

static void put_field(struct thrift *t, int id, enum thrift_type type)
{
	int step = id - t->last[t->depth];

	if (step > 15) {
		text_char(t->to, (char)type);
		thrift_put_varint(t->to, thrift_zigzag(id));
	} else {
		text_char(t->to, (char)(step << 4 | (int)type));
	}
	t->last[t->depth] = id;
}

void thrift_put_int(struct thrift *t, int id, enum thrift_type type, int64_t number)
{
	put_field(t, id, type);
	thrift_put_element_int(t, number);
}

void thrift_put_bool(struct thrift *t, int id, int value)
{
	put_field(t, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_bytes(struct thrift *t, int id, const void *bytes, size_t n)
{
	put_field(t, id, THRIFT_BINARY);
	thrift_put_varint(t->to, n);
	text_add(t->to, bytes, n);
}

void thrift_put_text(struct thrift *t, int id, const char *text)
{
	thrift_put_bytes(t, id, text, strlen(text));
}

void thrift_list(struct thrift *t, int id, enum thrift_type type, size_t n)
{
	put_field(t, id, THRIFT_LIST);
	text_char(t->to, (char)((n < 15 ? n : 15) << 4 | type));
	if (n >= 15)
		thrift_put_varint(t->to, n);
}

void thrift_put_element_int(struct thrift *t, int64_t number)
{
	thrift_put_varint(t->to, thrift_zigzag(number));
}

void thrift_put_element_text(struct thrift *t, const char *text)
{
	thrift_put_varint(t->to, strlen(text));
	text_add(t->to, text, strlen(text));
}

void thrift_open(struct thrift *t, int id)
{
	if (id)
		put_field(t, id, THRIFT_STRUCT);
	t->last[++t->depth] = 0;
}

void thrift_close(struct thrift *t)
{
	text_char(t->to, '\0');
	t->depth--;
}

void thrift_end(struct thrift *t)
{
	text_char(t->to, '\0');
}
