#pragma once
/*
 * One column of integers, written into a chunk and read from one.
 *
 * See column.c for the bytes. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum column_code {
	COLUMN_LINEAR, /* base, base + step, base + 2 step, ... */
	COLUMN_RAW,    /* varints of zigzag-encoded differences */
	COLUMN_ZSTD,   /* the same as COLUMN_RAW, compressed */
	COLUMN_CODES,
};

/* A column being written. All zero: empty. */
struct column {
	uint64_t last, step, base;
	uint32_t count;
	bool bent;   /* not linear: the values are in @bytes */
	bool times;  /* the values are times: shapes.c stores them differently */
	bool failed; /* out of memory: the column must not be used */
	uint32_t used, size;
	uint8_t *bytes;
};

/* Make the column non-linear, since @step differs, and add the first value after the change. */
void column_change_step(struct column *column, uint64_t step);

/* Allocate space for one more varint. */
void column_grow(struct column *column);

static inline uint64_t zigzag_encode(uint64_t n)
{
	return (n << 1) ^ (uint64_t)((int64_t)n >> 63);
}

static inline uint64_t zigzag_decode(uint64_t n)
{
	return (n >> 1) ^ -(n & 1);
}

static inline size_t varint_put(uint8_t *at, uint64_t n)
{
	size_t used = 0;

	while (n >= 0x80) {
		at[used++] = (uint8_t)n | 0x80;
		n >>= 7;
	}
	at[used++] = (uint8_t)n;
	return used;
}

/* Returns the number of bytes read; 0 if the varint does not end within @left. */
static inline size_t varint_get(const uint8_t *at, size_t left, uint64_t *ret)
{
	uint64_t n = 0;

	for (size_t i = 0; i < left && i < 10; i++) {
		n |= (uint64_t)(at[i] & 0x7f) << (7 * i);
		if (!(at[i] & 0x80)) {
			*ret = n;
			return i + 1;
		}
	}
	return 0;
}

static inline void column_put(struct column *column, uint64_t value)
{
	uint64_t step = value - column->last;

	column->last = value;
	if (__builtin_expect(!column->bent, 1)) {
		if (__builtin_expect(step == column->step, 1))
			column->count++;
		else
			column_change_step(column, step);
		return;
	}
	if (__builtin_expect(column->used + 10 > column->size, 0))
		column_grow(column);
	column->count++;
	if (__builtin_expect(!column->failed, 1))
		column->used +=
			(uint32_t)varint_put(column->bytes + column->used, zigzag_encode(step));
}

/* Empty the column; its memory stays allocated. */
static inline void column_clear(struct column *column)
{
	column->last = column->step = column->base = 0;
	column->count = column->used = 0;
	column->bent = false;
}

void column_fini(struct column *column);

/* Decode all column->count values of a column into @values. 0 or -EBADMSG. */
int column_values(const struct column *column, uint64_t *values);

/* A column in a chunk; @bytes are borrowed from the chunk. */
struct column_view {
	enum column_code code;
	uint32_t count;
	uint64_t base, step; /* COLUMN_LINEAR */
	const uint8_t *bytes;
	uint32_t packed, unpacked; /* size of @bytes, and their size before compression */
	const uint64_t *values;    /* decoded; NULL: linear, or not decoded */
};

/* Does the size in the compressed bytes of @view match the one in the directory? */
bool column_is_sized(const struct column_view *view);

/*
 * Decode @view, which is not linear, into @values (view->count of them).
 * @scratch has view->unpacked bytes. Returns 0 or -EBADMSG.
 */
int column_read(const struct column_view *view, void *dctx, uint8_t *scratch, uint64_t *values);
