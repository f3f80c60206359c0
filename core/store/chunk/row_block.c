/*
 * Reading a block of rows
 *
 * Everything is checked when the block is decoded, the sizes before memory is allocated; then
 * values are read without further checks.
 */
#include "core/store/chunk/row_block.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"

static int add_part(struct row_block *block, struct row_shape *shape, struct shapes_input *in)
{
	const char *kind = shapes_get_bytes(in, 1);
	struct row_part part = { .kind = kind ? (enum row_kind) * (const uint8_t *)kind
					      : ROW_NULL };

	if (part.kind == ROW_TEXT || part.kind == ROW_NUMBERED)
		part.text = shapes_get_text(in);
	if (part.kind == ROW_NUMBER || part.kind == ROW_NUMBERED)
		part.number = shape->numbers++;
	if (in->bad || part.kind >= ROW_KINDS)
		return -EBADMSG;
	if (vec_reserve(block->parts, block->parts_size, block->nparts + 1))
		return -ENOMEM;
	block->parts[block->nparts++] = part;
	return 0;
}

static int read_shape(struct row_block *block, struct shapes_input *from)
{
	struct shapes_text text = shapes_get_text(from);
	struct shapes_input in = { .at = (const uint8_t *)text.at,
				   .end = (const uint8_t *)text.at + text.length,
				   .bad = from->bad };
	struct row_shape shape = { 0 };
	int err = in.bad ? -EBADMSG : 0;

	for (uint32_t i = 0; i < block->columns && !err; i++)
		err = add_part(block, &shape, &in);
	if (err || in.at != in.end)
		return err ?: -EBADMSG;
	if (vec_reserve(block->shapes, block->shapes_size, block->nshapes + 1))
		return -ENOMEM;
	block->shapes[block->nshapes++] = shape;
	return 0;
}

static int read_shapes(struct row_block *block, struct shapes_input *in)
{
	size_t n = shapes_get_varint(in, block->rows);
	int err = in->bad ? -EBADMSG : 0;

	for (size_t i = 0; i < n && !err; i++)
		err = read_shape(block, in);
	return err;
}

/* Read the shape of each row, and number the rows of each shape. */
static int read_rows(struct row_block *block, struct shapes_input *in)
{
	int err = shapes_get_column(in, block->values, block->rows);

	for (uint32_t i = 0; i < block->rows && !err; i++) {
		uint64_t shape = block->values[i];

		if (shape >= block->nshapes)
			return -EBADMSG;
		block->ranks[i] = block->shapes[shape].rows++;
	}
	return err;
}

/* Reserve memory for the values: a row has at most one per column of the table, and its shape. */
static int reserve_memory(struct row_block *block)
{
	size_t most = (size_t)block->rows * (1 + block->columns);

	return vec_reserve(block->values, block->values_size, most + 1) ||
			       vec_reserve(block->ranks, block->ranks_size, block->rows + 1)
		       ? -ENOMEM
		       : 0;
}

static int read_columns(struct row_block *block, struct shapes_input *in)
{
	int err = 0;

	block->nvalues = block->rows;
	for (size_t s = 0; s < block->nshapes && !err; s++) {
		struct row_shape *shape = &block->shapes[s];

		shape->first = block->nvalues;
		for (uint32_t i = 0; i < shape->numbers && !err; i++) {
			err = shapes_get_column(in, block->values + block->nvalues, shape->rows);
			block->nvalues += shape->rows;
		}
	}
	return err ? err : shapes_at_end(in) ? 0 : -EBADMSG;
}

int row_block_read(struct row_block *block, const void *data, size_t size, uint32_t columns)
{
	struct shapes_input in;
	int err = shapes_open(&block->plain, data, size, ROWS_MAX, &block->rows, &in);

	block->nshapes = block->nparts = block->nvalues = 0;
	block->columns = columns;
	if (!err && shapes_get_varint(&in, ROW_COLUMNS_MAX) != columns)
		err = -EBADMSG;
	err = err ?: reserve_memory(block);
	err = err ?: read_shapes(block, &in);
	err = err ?: read_rows(block, &in);
	err = err ?: read_columns(block, &in);
	if (err)
		block->rows = 0;
	return err;
}

void row_block_fini(struct row_block *block)
{
	shapes_plain_fini(&block->plain);
	free(block->shapes);
	free(block->parts);
	free(block->values);
	free(block->ranks);
	*block = (struct row_block){ 0 };
}
