/*
 * Writing shapes, their columns, and blocks of both
 *
 *	version, rows                                              byte, varint
 *	bytes before compression, bytes of the frame               varint, varint
 *	one zstd frame of parts in an order that the kind of block defines:
 *
 *	texts:      number; each: length, bytes
 *	a column:   0, zigzag(base), zigzag(step)      linear
 *	            1, bytes, that many bytes          column.c has the format
 *	            3                                  its values follow, as times:
 *
 *	number of times, bytes of the frame                        varint, varint
 *	one zstd frame of their sizes
 *	their bits, the lowest bit of a byte first
 *
 * The low bits of times are noise: a compressor only makes them longer, and mixed with the rest
 * they spoil its statistics. A time is stored as its difference to the one before. The size of a
 * difference is one byte: 2 * the number of bits of its absolute value, + 1 if it is negative. The
 * bits stored are those below the highest 1.
 *
 * In version 1 there is only the first frame, without the byte count of the frame, and there are no
 * times.
 *
 * Not here: what a shape is (call_batch.c, row_batch.c), reading (shapes_read.c).
 */
#include "core/store/chunk/shapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/vec.h"

enum {
	LEVEL = 1,
	/*
	 * In a small block, zstd's tables of literals take most of the time of packing and reading,
	 * and as much space as they save; this level writes no such tables.
	 */
	SMALL = 2048, /* bytes */
	LEVEL_SMALL = -1,
};

static int grow_slots(struct text_index *index)
{
	size_t n = index->nslots ? index->nslots * 2 : 16;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++) {
		size_t at = index->list[i].hash & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(index->slots);
	index->slots = slots;
	index->nslots = n;
	return 0;
}

static bool is_text(const struct text_index *index, size_t i, uint64_t hash, const char *text,
		    size_t n)
{
	const struct indexed_text *at = &index->list[i];

	return at->hash == hash && at->length == n &&
	       (!n || !memcmp(index->bytes.at + at->at, text, n));
}

int text_index_number(struct text_index *index, uint64_t hash, const char *text, size_t n,
		      size_t *ret_number)
{
	size_t at;

	if (index->count * 2 >= index->nslots && grow_slots(index))
		return -ENOMEM;
	for (at = hash & (index->nslots - 1); index->slots[at]; at = (at + 1) & (index->nslots - 1))
		if (is_text(index, index->slots[at] - 1, hash, text, n)) {
			*ret_number = index->slots[at] - 1;
			return 0;
		}
	if (vec_reserve(index->list, index->size, index->count + 1))
		return -ENOMEM;
	index->list[index->count] = (struct indexed_text){ hash, index->bytes.used, n };
	text_add(&index->bytes, text, n);
	*ret_number = index->count;
	index->slots[at] = (uint32_t)++index->count;
	return index->bytes.failed ? -ENOMEM : 0;
}

void text_index_clear(struct text_index *index)
{
	text_cut(&index->bytes, 0);
	index->count = 0;
	if (index->nslots)
		memset(index->slots, 0, index->nslots * sizeof(*index->slots));
}

void text_index_fini(struct text_index *index)
{
	text_fini(&index->bytes);
	free(index->list);
	free(index->slots);
}

/* Add the columns of a new shape. */
static int add_columns(struct shapes *shapes, size_t count)
{
	if (vec_reserve(shapes->rows, shapes->rows_size, shapes->nrows + 1) ||
	    vec_reserve(shapes->columns, shapes->columns_size, shapes->ncolumns + count))
		return -ENOMEM;
	for (; shapes->columns_made < shapes->ncolumns + count; shapes->columns_made++)
		shapes->columns[shapes->columns_made] = (struct column){ 0 };
	shapes->rows[shapes->nrows++] = (struct shape_rows){ shapes->ncolumns, count };
	shapes->ncolumns += count;
	return 0;
}

int shapes_find_or_add(struct shapes *shapes, uint64_t hash, const struct text *key, size_t columns,
		       size_t *ret_number)
{
	if (text_index_number(&shapes->keys, hash, key->at, key->used, ret_number))
		return -ENOMEM;
	return *ret_number < shapes->nrows ? 0 : add_columns(shapes, columns);
}

void shapes_clear(struct shapes *shapes)
{
	for (size_t i = 0; i < shapes->ncolumns; i++)
		column_clear(&shapes->columns[i]);
	text_index_clear(&shapes->keys);
	shapes->nrows = shapes->ncolumns = 0;
}

void shapes_fini(struct shapes *shapes)
{
	for (size_t i = 0; i < shapes->columns_made; i++)
		column_fini(&shapes->columns[i]);
	text_index_fini(&shapes->keys);
	free(shapes->columns);
	free(shapes->rows);
}

/* Packing */

void shapes_put_varint(struct text *to, uint64_t value)
{
	char *at = text_space(to, 10);

	if (at)
		to->used += varint_put((uint8_t *)at, value);
}

void shapes_put_texts(struct text *to, const struct text_index *index)
{
	shapes_put_varint(to, index->count);
	for (size_t i = 0; i < index->count; i++) {
		shapes_put_varint(to, index->list[i].length);
		text_add(to, index->bytes.at + index->list[i].at, index->list[i].length);
	}
}

void shapes_put_column(struct text *to, const struct column *column)
{
	text_char(to, column->bent ? COLUMN_RAW : COLUMN_LINEAR);
	if (column->bent) {
		shapes_put_varint(to, column->used);
		text_add(to, (const char *)column->bytes, column->used);
		return;
	}
	shapes_put_varint(to, zigzag_encode(column->base));
	shapes_put_varint(to, zigzag_encode(column->step));
}

static void put_bits(struct text_bits *bits, uint64_t value, unsigned n)
{
	while (n) {
		unsigned take = n < 8 - bits->used ? n : 8 - bits->used;

		bits->last |= (value & ((1u << take) - 1)) << bits->used;
		bits->used += take;
		value >>= take;
		n -= take;
		if (bits->used == 8) {
			text_char(&bits->bytes, (char)bits->last);
			bits->last = bits->used = 0;
		}
	}
}

void shapes_put_times(struct shapes_packer *packer, const uint64_t *values, size_t n)
{
	uint64_t last = 0;

	text_char(&packer->plain, COLUMN_TIMES);
	for (size_t i = 0; i < n; i++) {
		bool negative = (int64_t)(values[i] - last) < 0;
		uint64_t size = negative ? last - values[i] : values[i] - last;
		unsigned bits = size ? 64 - (unsigned)__builtin_clzll(size) : 0;

		text_char(&packer->sizes, (char)(2 * bits + negative));
		if (bits > 1)
			put_bits(&packer->bits, size, bits - 1);
		last = values[i];
	}
}

uint64_t *shapes_reserve_words(struct shapes_packer *packer, size_t n)
{
	return vec_reserve(packer->words, packer->words_size, n + 1) ? NULL : packer->words;
}

static void put_as_times(struct shapes_packer *packer, const struct column *column)
{
	uint64_t *values = shapes_reserve_words(packer, column->count);

	if (values && !column_values(column, values))
		shapes_put_times(packer, values, column->count);
	else
		packer->plain.failed = true;
}

void shapes_put_columns(struct shapes_packer *packer, const struct shapes *shapes)
{
	for (size_t i = 0; i < shapes->ncolumns; i++) {
		const struct column *column = &shapes->columns[i];

		if (column->times && column->bent && !column->failed)
			put_as_times(packer, column);
		else
			shapes_put_column(&packer->plain, column);
		packer->plain.failed |= column->failed;
	}
}

void shapes_packer_fini(struct shapes_packer *packer)
{
	ZSTD_freeCCtx(packer->context);
	text_fini(&packer->plain);
	text_fini(&packer->sizes);
	text_fini(&packer->bits.bytes);
	text_fini(&packer->frame);
	text_fini(&packer->block);
	free(packer->words);
	*packer = (struct shapes_packer){ 0 };
}

/* Append the size of @plain, the size of its frame, and the frame. 0 or -ENOMEM. */
static int put_frame(struct shapes_packer *packer, const struct text *plain)
{
	size_t bound = ZSTD_compressBound(plain->used), n;
	char *at;

	text_cut(&packer->frame, 0);
	at = text_space(&packer->frame, bound);
	if (!packer->context)
		packer->context = ZSTD_createCCtx();
	if (!packer->context || !at || plain->failed)
		return -ENOMEM;
	n = ZSTD_compressCCtx(packer->context, at, bound, plain->at, plain->used,
			      plain->used < SMALL ? LEVEL_SMALL : LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM; /* cannot be a lack of space: the bound is reserved */
	shapes_put_varint(&packer->block, plain->used);
	shapes_put_varint(&packer->block, n);
	text_add(&packer->block, at, n);
	return 0;
}

void shapes_pack_begin(struct shapes_packer *packer)
{
	text_cut(&packer->plain, 0);
	text_cut(&packer->sizes, 0);
	text_cut(&packer->bits.bytes, 0);
	packer->bits.last = packer->bits.used = 0;
}

int shapes_pack(struct shapes_packer *packer, uint32_t rows)
{
	struct text *to = &packer->block, *bits = &packer->bits.bytes;

	if (packer->bits.used)
		text_char(bits, (char)packer->bits.last);
	text_cut(to, 0);
	text_char(to, SHAPES_VERSION);
	shapes_put_varint(to, rows);
	if (put_frame(packer, &packer->plain) || put_frame(packer, &packer->sizes))
		return -ENOMEM;
	text_add(to, bits->at, bits->used);
	return bits->failed || to->failed ? -ENOMEM : 0;
}
