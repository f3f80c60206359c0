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
#include <zstd.h>

void column_grow(struct column *column)
{
	uint32_t size = column->size ? column->size * 2 : 4096;
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

void column_bend(struct column *column, uint64_t step)
{
	uint32_t before = column->count++;

	if (before == 0) {
		column->base = step; /* the difference to 0 */
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

static int read_varints(const uint8_t *at, size_t left, uint64_t *values, uint32_t count)
{
	uint64_t value = 0, n;

	for (uint32_t i = 0; i < count; i++) {
		size_t used;

		if (left && !(*at & 0x80)) {
			n = *at;
			used = 1;
		} else {
			used = varint_get(at, left, &n);
			if (!used)
				return -EBADMSG;
		}
		at += used;
		left -= used;
		value += zigzag_decode(n);
		values[i] = value;
	}
	return left ? -EBADMSG : 0;
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
