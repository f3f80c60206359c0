#pragma once
/*
 * Structures in the compact protocol of Thrift, as Parquet's metadata needs them.
 *
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 *
 * Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I16 = 4,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

enum { THRIFT_DEPTH = 8 };

/* All zero but for @to: at the beginning of a structure. */
struct thrift {
	struct text *to;
	int last[THRIFT_DEPTH]; /* the last field of each open structure */
	int depth;
};

/* Fields of the open structure, in ascending order of @id. */
void thrift_put_int(struct thrift *t, int id, enum thrift_type type, int64_t number);
void thrift_put_bool(struct thrift *t, int id, int value);
void thrift_put_text(struct thrift *t, int id, const char *text);
void thrift_put_bytes(struct thrift *t, int id, const void *bytes, size_t n);

/* A list, whose @n elements follow: structures, between thrift_open() and thrift_close(), ... */
void thrift_list(struct thrift *t, int id, enum thrift_type type, size_t n);
/* Put an element of a list. */
void thrift_put_element_int(struct thrift *t, int64_t number);
void thrift_put_element_text(struct thrift *t, const char *text);

/* A field that is a structure, with an id above 0, or an element of a list, with 0. */
void thrift_open(struct thrift *t, int id);
void thrift_close(struct thrift *t);

/* The end of the outermost structure. */
void thrift_end(struct thrift *t);

/* A number of 7 bits a byte, least first. */
void thrift_put_varint(struct text *to, uint64_t number);

static inline uint64_t thrift_zigzag(int64_t number)
{
	return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}
