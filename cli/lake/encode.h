#pragma once
/*
 * Parquet's encodings of values.
 *
 * https://github.com/apache/parquet-format/blob/master/Encodings.md
 * All append to a text, which has failed if out of memory. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

/* The number of bits of @number. */
static inline unsigned int encode_width(uint64_t number)
{
	return number ? 64 - (unsigned int)__builtin_clzll(number) : 0;
}

/* RLE: runs, and groups of eight packed values of @width bits, 1 to 16. */
void encode_rle(struct text *to, const uint16_t *values, size_t n, unsigned int width);

/* Encode @n equal values. */
void encode_run(struct text *to, uint32_t value, size_t n, unsigned int width);

/* DELTA_BINARY_PACKED. */
void encode_delta(struct text *to, const int64_t *values, size_t n);

/* The approximate size of encode_delta()'s output, from a sample. */
size_t encode_delta_size(const int64_t *values, size_t n);

/*
 * DELTA_BYTE_ARRAY of @n texts: text i extends from @ends[@which[i] - 1], or from 0 if @which[i] is
 * 0, to @ends[@which[i]].
 */
void encode_texts(struct text *to, const char *bytes, const uint64_t *ends, const int64_t *which,
		  size_t n);

/* Encode the names of @n events, as encode_texts() encodes texts. */
void encode_events(struct text *to, const int64_t *threads, const int64_t *numbers, size_t n);

/* PLAIN: @bytes bytes of a number, least first. */
void encode_plain(struct text *to, uint64_t number, unsigned int bytes);
