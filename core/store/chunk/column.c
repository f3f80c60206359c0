/*
 * One column of integers
 *
 * Most columns of a chunk are linear: one queue pair, one length, the numbers of the events. For
 * these only the first value and the step are stored. A column that is not linear stores the
 * difference of each value to the one before (of the first to 0), zigzagged (0, -1, 1, -2 become 0,
 * 1, 2, 3) and split into groups of 7 bits, least first, bit 7 set in all but the last. The chunk
 * compresses these bytes with zstd if that makes them smaller.
 *
 * Not here: the layout of columns in a chunk (batch.c).
 */
#include "core/store/chunk/column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { EIGHT = 8 };

/* In each byte of a word, the bit that says that the varint continues. */
#define CONTINUED UINT64_C(0x8080808080808080)

void column_grow(struct column *column)
{
	uint32_t size = column->size ? column->size * 2 : 64;
	uint8_t *bytes;

	while (size < column->used + 10)
		size *= 2;
	bytes = realloc(column->bytes, size);
	if (!bytes) {
		column->failed = true;
		return;
	}
	column->bytes = bytes;
	column->size = size;
}

static void put_step(struct column *column, uint64_t step)
{
	if (column->used + 10 > column->size)
		column_grow(column);
	if (!column->failed)
		column->used +=
			(uint32_t)varint_put(column->bytes + column->used, zigzag_encode(step));
}

void column_change_step(struct column *column, uint64_t step)
{
	uint32_t before = column->count++;

	if (before == 0) {
		column->base = step; /* the first value: its difference to 0 */
		return;
	}
	if (before == 1) {
		column->step = step;
		return;
	}
	column->bent = true;
	column->used = 0;
	put_step(column, column->base);
	for (uint32_t i = 1; i < before; i++)
		put_step(column, column->step);
	put_step(column, step);
}

void column_fini(struct column *column)
{
	free(column->bytes);
	*column = (struct column){ 0 };
}

/* Decode eight values from @word, each byte of which is one difference. Returns the last value. */
static uint64_t decode_eight(uint64_t word, uint64_t value, uint64_t *values)
{
#pragma GCC unroll 8
	for (int i = 0; i < EIGHT; i++, word >>= 8) {
		value += zigzag_decode(word & 0xff);
		values[i] = value;
	}
	return value;
}

/* Put the seven low bits of each byte together. */
static inline uint64_t join_bits(uint64_t word)
{
	word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
	word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
	return (word & 0x0fffffff) | (word & 0x0fffffff00000000) >> 4;
}

/* Read a varint of up to eight bytes, without a branch on its length. */
static size_t get_word(const uint8_t *at, size_t left, uint64_t *ret)
{
	uint64_t word, ends;

	if (left < sizeof(word))
		return varint_get(at, left, ret);
	memcpy(&word, at, sizeof(word));
	ends = ~word & CONTINUED;
	if (!ends)
		return varint_get(at, left, ret);
	*ret = join_bits(word & (ends ^ (ends - 1)));
	return (size_t)__builtin_ctzll(ends) / 8 + 1;
}

/*
 * Read a varint. In the usual case of one or two bytes no branch depends on the length, which is
 * often unpredictable. Returns the number of bytes; 0: damaged.
 */
static inline size_t get_short(const uint8_t *at, size_t left, uint64_t *ret)
{
	uint32_t low, high, more;

	if (left < 2)
		return varint_get(at, left, ret);
	low = at[0];
	high = at[1];
	more = low >> 7;
	if (__builtin_expect(more & high >> 7, 0))
		return get_word(at, left, ret);
	*ret = (low & 0x7f) | (high << 7 & -more);
	return 1 + more;
}

static int read_varints(const uint8_t *at, size_t left, uint64_t *values, uint32_t count)
{
	uint64_t value = 0, word, n;
	uint32_t end;

	for (uint32_t i = 0; i < count;) {
		if (left >= sizeof(word) && count - i >= EIGHT) {
			memcpy(&word, at, sizeof(word));
			if (!(word & CONTINUED)) {
				value = decode_eight(word, value, values + i);
				at += EIGHT;
				left -= EIGHT;
				i += EIGHT;
				continue;
			}
		}
		for (end = count - i < EIGHT ? count : i + EIGHT; i < end; i++) {
			size_t used = get_short(at, left, &n);

			if (!used)
				return -EBADMSG;
			at += used;
			left -= used;
			value += zigzag_decode(n);
			values[i] = value;
		}
	}
	return left ? -EBADMSG : 0;
}

int column_values(const struct column *column, uint64_t *values)
{
	uint64_t value = column->base;

	if (column->bent)
		return read_varints(column->bytes, column->used, values, column->count);
	for (uint32_t i = 0; i < column->count; i++, value += column->step)
		values[i] = value;
	return 0;
}

bool column_is_sized(const struct column_view *view)
{
	return view->code != COLUMN_ZSTD ||
	       ZSTD_getFrameContentSize(view->bytes, view->packed) == view->unpacked;
}

int column_read(const struct column_view *view, void *dctx, uint8_t *scratch, uint64_t *values)
{
	const uint8_t *bytes = view->bytes;

	if (view->code == COLUMN_ZSTD) {
		size_t n = ZSTD_decompressDCtx(dctx, scratch, view->unpacked, bytes, view->packed);

		if (ZSTD_isError(n) || n != view->unpacked)
			return -EBADMSG;
		bytes = scratch;
	}
	return read_varints(bytes, view->unpacked, values, view->count);
}
