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

/* Varints of which some were decoded. */
struct varints {
	const uint8_t *begin, *at;
	size_t left;
	uint64_t *values;
	uint32_t i, count; /* index of the next value, and the number of values */
};

/* Are the eight bytes that were decoded last whole varints, and are the next eight the same? */
static inline bool do_bytes_repeat(const struct varints *in)
{
	uint64_t before, word;

	if (in->at - in->begin < EIGHT || in->left < EIGHT || in->count - in->i < EIGHT ||
	    (in->at - in->begin > EIGHT && in->at[-EIGHT - 1] & 0x80))
		return false;
	memcpy(&before, in->at - EIGHT, sizeof(before));
	memcpy(&word, in->at, sizeof(word));
	return word == before;
}

/* The number of varints that end in @word. */
static uint32_t count_ends(uint64_t word)
{
	return (uint32_t)(((~word & CONTINUED) >> 7) * 0x0101010101010101 >> 56);
}

typedef uint64_t pair __attribute__((vector_size(2 * sizeof(uint64_t))));

/* Add @step to eight values, and store them. */
static inline void put_next(pair values[EIGHT / 2], pair step, uint64_t *to)
{
#pragma GCC unroll 4
	for (int i = 0; i < EIGHT / 2; i++) {
		values[i] += step;
		memcpy(to + 2 * i, &values[i], sizeof(pair));
	}
}

/*
 * The differences of most columns repeat: two buffers in turn, for example. While the next eight
 * bytes are the ones before them, the next values are the ones before them plus a constant.
 */
static __attribute__((noinline)) void repeat_values(struct varints *in)
{
	const uint8_t *at = in->at, *end = in->at + in->left;
	uint64_t *to = in->values + in->i, *last = in->values + in->count - EIGHT, word, next, step;
	pair values[EIGHT / 2] = { 0 };
	uint32_t n;

	memcpy(&word, at, sizeof(word));
	n = count_ends(word);
	step = to[-1] - (in->i > n ? to[-1 - (int64_t)n] : 0);
	memcpy(values, to - n, n * sizeof(*to));
	do {
		/* those after @n are wrong, and are written again */
		put_next(values, (pair){ step, step }, to);
		to += n;
		at += EIGHT;
		if (end - at < EIGHT)
			break;
		memcpy(&next, at, sizeof(next));
	} while (next == word && to <= last);
	in->i = (uint32_t)(to - in->values);
	in->left = (size_t)(end - at);
	in->at = at;
}

/* Read up to eight varints. 0 or -EBADMSG. */
static inline int read_eight(struct varints *in, uint64_t *value)
{
	uint32_t end = in->count - in->i < EIGHT ? in->count : in->i + EIGHT;
	uint64_t n;

	for (uint32_t i = in->i; i < end; i++) {
		size_t used = get_short(in->at, in->left, &n);

		if (!used)
			return -EBADMSG;
		in->at += used;
		in->left -= used;
		in->values[i] = *value += zigzag_decode(n);
	}
	in->i = end;
	return 0;
}

static int read_varints(const uint8_t *bytes, size_t left, uint64_t *values, uint32_t count)
{
	struct varints in = { bytes, bytes, left, values, 0, count };
	uint64_t value = 0, word;
	int err = 0;

	while (in.i < count && !err) {
		if (do_bytes_repeat(&in)) {
			repeat_values(&in);
			value = values[in.i - 1];
			continue;
		}
		if (in.left >= sizeof(word) && count - in.i >= EIGHT) {
			memcpy(&word, in.at, sizeof(word));
			if (!(word & CONTINUED)) {
				value = decode_eight(word, value, values + in.i);
				in.at += EIGHT;
				in.left -= EIGHT;
				in.i += EIGHT;
				continue;
			}
		}
		err = read_eight(&in, &value);
	}
	return err ?: in.left ? -EBADMSG : 0;
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
